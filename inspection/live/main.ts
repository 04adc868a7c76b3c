import { createActorList } from "./actor-list.ts";
import { createChartView } from "./chart-view.ts";
import { connect } from "./connection.ts";
import { find } from "./element.ts";
import { createModel, merge, reset } from "./model.ts";
import { createSequenceView } from "./sequence-view.ts";

const model = createModel();

let isScheduled = false;
/** Redraws everything, at most once per animation frame. */
const show = () => {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    for (const view of views) view(model);
  });
};

const select = (key: string) => {
  Object.assign(model, { selected: key, chosen: true, pinned: undefined });
  show();
};

const goToNow = () => {
  model.pinned = undefined;
  show();
};

const views = [
  createActorList(find("#actors"), select),
  createChartView(find("#chart"), goToNow),
  createSequenceView(find("#sequence"), model, {
    onPick: (step) => {
      Object.assign(model, step ? { pinned: step, selected: step.to, chosen: true } : { pinned: undefined });
      show();
    },
    onChange: show,
  }),
];

addEventListener("keydown", ({ key }) => {
  if (key === "Escape" && model.pinned) goToNow();
});

const CONNECTION_TEXTS = {
  live: "Live",
  lost: "The connection is lost. What you see may be out of date; trying again …",
};
const connection = find<HTMLElement>("#connection");
connect(`${location.pathname}/events`, {
  onBegin: (message) => {
    reset(model, message);
    show();
  },
  onMore: (message) => {
    merge(model, message);
    show();
  },
  onState: (state) => {
    connection.dataset.state = state;
    connection.textContent = CONNECTION_TEXTS[state];
  },
});
