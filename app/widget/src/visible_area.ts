// Pages that are wider than a phone's screen, and keyboards that cover it: the panel keeps to what is seen.

export function fitVisibleArea(host: HTMLElement): void {
  const area = window.visualViewport;
  if (!area) return;
  const fit = () => {
    const whole = Math.abs(area.width - innerWidth) < 2 && Math.abs(area.height - innerHeight) < 2 && !area.offsetLeft && !area.offsetTop;
    const box = whole ? null : { left: area.offsetLeft, top: area.offsetTop, width: area.width, height: area.height };
    for (const name of ["left", "top", "width", "height"] as const) {
      if (box) host.style.setProperty(name, `${box[name]}px`);
      else host.style.removeProperty(name);
    }
    host.toggleAttribute("data-narrow", area.width <= 640);
  };
  area.addEventListener("resize", fit);
  area.addEventListener("scroll", fit);
  fit();
}
