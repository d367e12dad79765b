// The page reads the same without this: it only adds buttons that copy a command and save the figures.
function button(text, box) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  box.append(made);
  return made;
}

for (const box of document.querySelectorAll(".command")) {
  const code = box.querySelector("code");
  const copy = button("Copy", box);
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      copy.textContent = "Selected";
    }
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  });
}

const figures = document.getElementById("figures");
button("Save the figures as CSV", document.querySelector(".contents")).addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([figures.textContent], { type: "text/csv" }));
  link.download = figures.dataset.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
});

for (const slider of document.querySelectorAll("input[type=range]")) {
  const said = slider.parentElement.querySelector("output");
  slider.addEventListener("input", () => { said.textContent = `${slider.value}×`; });
}
