import { find } from "../element.ts";
import type { Picture } from "./picture.ts";
import { revealNearest } from "./reveal.ts";

/** A viewport on a large picture, which can be dragged, scrolled, zoomed and centred on parts of it. */
export interface ChartMap {
  /** Shows a picture, with a small overview of the whole in a corner. */
  show(picture: Picture, overview: Picture): void;
  /** Centres these parts, unless the person has switched following off. */
  follow(parts: Element[]): void;
}

const MIN_ZOOM = 0.1;
const MAX_ZOOM = 2.5;
const ZOOM_STEP = 1.25;
/** Pixels around the picture, for the tools. */
const MARGIN = 24;
/** Zooms at which letters are some 9 pixels high, the least that can be read, and some 14. */
const MIN_READABLE_ZOOM = 0.8;
const MAX_FIT_ZOOM = 1.15;

/** The largest size of the overview, in pixels. */
const OVERVIEW = { width: 280, height: 110 };

const clamp = (min: number, value: number, max: number) => Math.min(max, Math.max(min, value));

/** Creates the viewport in `place`, of which `.picture` is the window. */
export const createChartMap = (place: HTMLElement): ChartMap => {
  const view = find<HTMLElement>(".picture", place);
  const overview = find<HTMLElement>(".overview", place);
  const frame = find<HTMLElement>(".frame", overview);
  const following = find<HTMLInputElement>("input", place);
  // Without it, the arrow keys do not scroll in every browser.
  view.tabIndex = 0;
  let shown: Picture | undefined;
  let zoom = 1;
  let followed: Element[] = [];

  const fittingZoom = ({ width, height }: Picture): number =>
    clamp(MIN_ZOOM, Math.min((view.clientWidth - MARGIN) / width, (view.clientHeight - MARGIN) / height), MAX_FIT_ZOOM);

  /** Draws the frame that shows, on the overview, what the window shows. */
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
    zoom = clamp(MIN_ZOOM, wanted, MAX_ZOOM);
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

  const centre = (behavior: ScrollBehavior) => {
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
    setZoom(wanted === "fit" ? fittingZoom(shown) : wanted === "in" ? zoom * ZOOM_STEP : zoom / ZOOM_STEP);
    if (wanted !== "fit") centre("instant");
  });
  following.addEventListener("change", () => centre("smooth"));
  view.addEventListener("scroll", placeFrame);
  // Between the states of a large chart is room for a whole window.
  view.addEventListener("scrollend", () => shown && revealNearest(view, [...shown.svg.querySelectorAll("text")]));
  new ResizeObserver(() => {
    placeFrame();
    centre("instant");
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
      const whole = fittingZoom(picture);
      zoom = 1;
      setZoom(whole >= MIN_READABLE_ZOOM ? whole : 1);
    },
    follow: (parts) => {
      const isFirst = followed.length === 0;
      followed = parts;
      centre(isFirst ? "instant" : "smooth");
    },
  };
};
