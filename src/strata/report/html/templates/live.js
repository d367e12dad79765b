// Puts the parts of a run that is measured in their places as they come, and opens its report when it is over.
const live = document.getElementById("live");
const lost = document.getElementById("lost");
const events = new EventSource(live.dataset.follow);

events.addEventListener("part", (event) => {
  const { name, html } = JSON.parse(event.data);
  const place = document.getElementById(name);
  const at = place.querySelector(".scroll")?.scrollLeft;
  const focused = place.contains(document.activeElement) && document.activeElement.classList.contains("scroll");
  place.innerHTML = html;
  const scroll = place.querySelector(".scroll");
  if (scroll && at) scroll.scrollLeft = at;
  if (scroll && focused) scroll.focus();
});
events.addEventListener("title", (event) => { document.title = JSON.parse(event.data); });
events.addEventListener("over", () => { events.close(); location.reload(); });
events.onopen = () => { lost.hidden = true; };
events.onerror = () => {
  lost.hidden = false;
  // A browser gives up when it is answered with an error, as by a server that starts: ask again.
  if (events.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 2000);
};
