import { createActorList } from "./actor-list.ts";
import { createChartView } from "./chart-view.ts";
import { connect } from "./connection.ts";
import { find } from "./element.ts";
import { begin, createModel, merge } from "./model.ts";
import { createSequenceView } from "./sequence-view.ts";

const model = createModel();

let asked = false;
/** Shows everything anew, once for all that came since the last picture. */
const show = () => {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
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

const WORDS = { live: "Live", lost: "The connection is lost. What you see may be out of date; trying again …" };
const connection = find<HTMLElement>("#connection");
connect(`${location.pathname}/events`, {
  onBegin: (showing) => {
    begin(model, showing);
    show();
  },
  onMore: (showing) => {
    merge(model, showing);
    show();
  },
  onState: (state) => {
    connection.dataset.state = state;
    connection.textContent = WORDS[state];
  },
});
