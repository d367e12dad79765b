"""Understanding the platform before anything is measured: it reads, and never writes or changes a setting."""
