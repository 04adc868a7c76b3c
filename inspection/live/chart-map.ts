import { find } from "./element.ts";
import type { Picture } from "./picture.ts";

/** A large picture behind a small window: it can be dragged, scrolled, zoomed, and moved to what matters. */
export interface ChartMap {
  /** Shows another picture, with a small one of the whole beside it. */
  show(picture: Picture, overview: Picture): void;
  /** Moves so that these parts are seen, if the person lets it. */
  follow(parts: Element[]): void;
}

const SMALLEST = 0.1;
const LARGEST = 2.5;
const STEP = 1.25;
/** Pixels around the picture, where the tools are. */
const MARGIN = 24;
/** Letters of 12 pixels are read well, and those that are smaller than 9 are not. */
const READABLE = 0.8;
const NATURAL = 1.15;

/** Pixels that the small picture of the whole has at most. */
const OVERVIEW = { width: 280, height: 110 };

const between = (smallest: number, value: number, largest: number) => Math.min(largest, Math.max(smallest, value));

/** The window is `.picture` in `place`. */
export const createChartMap = (place: HTMLElement): ChartMap => {
  const view = find<HTMLElement>(".picture", place);
  const overview = find<HTMLElement>(".overview", place);
  const frame = find<HTMLElement>(".frame", overview);
  const following = find<HTMLInputElement>("input", place);
  // So that the arrow keys scroll it, in every browser.
  view.tabIndex = 0;
  let shown: Picture | undefined;
  let zoom = 1;
  let followed: Element[] = [];

  const fitting = ({ width, height }: Picture): number =>
    between(SMALLEST, Math.min((view.clientWidth - MARGIN) / width, (view.clientHeight - MARGIN) / height), NATURAL);

  /** Where the window is, on the small picture. */
  const placeFrame = () => {
    const { scrollLeft, scrollTop, scrollWidth, scrollHeight, clientWidth, clientHeight } = view;
    const seesAll = scrollWidth <= clientWidth && scrollHeight <= clientHeight;
    overview.hidden = seesAll || !shown;
    const percent = (part: number, whole: number) => `${(100 * part) / whole}%`;
    frame.style.left = percent(scrollLeft, scrollWidth);
    frame.style.top = percent(scrollTop, scrollHeight);
    frame.style.width = percent(Math.min(clientWidth, scrollWidth), scrollWidth);
    frame.style.height = percent(Math.min(clientHeight, scrollHeight), scrollHeight);
  };

  const setZoom = (wanted: number) => {
    if (!shown) return;
    const before = zoom;
    zoom = between(SMALLEST, wanted, LARGEST);
    const middle = { x: view.scrollLeft + view.clientWidth / 2, y: view.scrollTop + view.clientHeight / 2 };
    shown.svg.style.width = `${shown.width * zoom}px`;
    shown.svg.style.height = `${shown.height * zoom}px`;
    view.scrollTo({
      left: (middle.x * zoom) / before - view.clientWidth / 2,
      top: (middle.y * zoom) / before - view.clientHeight / 2,
      behavior: "instant",
    });
    placeFrame();
  };

  const move = (behavior: ScrollBehavior) => {
    if (!following.checked || followed.length === 0) return;
    const boxes = followed.map((part) => part.getBoundingClientRect());
    const window = view.getBoundingClientRect();
    const left = Math.min(...boxes.map((box) => box.left));
    const right = Math.max(...boxes.map((box) => box.right));
    const top = Math.min(...boxes.map((box) => box.top));
    const bottom = Math.max(...boxes.map((box) => box.bottom));
    view.scrollBy({
      left: (left + right - window.left - window.right) / 2,
      top: (top + bottom - window.top - window.bottom) / 2,
      behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : behavior,
    });
  };

  place.addEventListener("click", ({ target }) => {
    const wanted = target instanceof HTMLElement ? target.dataset.zoom : undefined;
    if (wanted === undefined || !shown) return;
    setZoom(wanted === "fit" ? fitting(shown) : wanted === "in" ? zoom * STEP : zoom / STEP);
    if (wanted !== "fit") move("instant");
  });
  following.addEventListener("change", () => move("smooth"));
  view.addEventListener("scroll", placeFrame);
  new ResizeObserver(() => {
    placeFrame();
    move("instant");
  }).observe(view);

  view.addEventListener("pointerdown", (down) => {
    if (down.button !== 0 || down.pointerType === "touch") return;
    following.checked = false;
    view.setPointerCapture(down.pointerId);
    const drag = ({ movementX, movementY }: PointerEvent) =>
      view.scrollBy({ left: -movementX, top: -movementY, behavior: "instant" });
    view.addEventListener("pointermove", drag);
    view.addEventListener("lostpointercapture", () => view.removeEventListener("pointermove", drag), { once: true });
  });
  overview.addEventListener("pointerdown", ({ clientX, clientY }) => {
    following.checked = false;
    const { left, top, width, height } = overview.getBoundingClientRect();
    view.scrollTo({
      left: ((clientX - left) / width) * view.scrollWidth - view.clientWidth / 2,
      top: ((clientY - top) / height) * view.scrollHeight - view.clientHeight / 2,
      behavior: "smooth",
    });
  });

  return {
    show: (picture, small) => {
      shown = picture;
      followed = [];
      view.replaceChildren(picture.svg);
      overview.replaceChildren(small.svg, frame);
      const scale = Math.min(OVERVIEW.width / small.width, OVERVIEW.height / small.height);
      overview.style.width = `${small.width * scale}px`;
      overview.style.height = `${small.height * scale}px`;
      const whole = fitting(picture);
      zoom = 1;
      setZoom(whole >= READABLE ? whole : 1);
    },
    follow: (parts) => {
      const isFirst = followed.length === 0;
      followed = parts;
      move(isFirst ? "instant" : "smooth");
    },
  };
};
