import { find } from "../element.ts";
import type { NamedServer } from "../own-server.ts";
import { createActorList } from "./actor-list.ts";
import { createActorView } from "./actor-view.ts";
import { connect } from "./connection.ts";
import { createModel, merge, reset, selectNamed } from "./model.ts";
import { createSequenceView } from "./sequence-view.ts";
import { createTaskNames } from "./task-names.ts";

const names = createTaskNames(() => show());
const model = createModel(names);

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
  createActorView(find("#chart"), goToNow),
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

/** The board links to one task here, by its id. */
const selectFromAddress = () => selectNamed(model, decodeURIComponent(location.hash.slice(1)));

addEventListener("hashchange", () => {
  selectFromAddress();
  show();
});

/** Names the process whose charts the page shows; while its connection is lost, where those of others are. */
const connectionText = (state: "live" | "lost", servers: readonly NamedServer[]): string => {
  const own = servers.find(({ isThis }) => isThis);
  if (state === "live") return own === undefined ? "Live" : `Live: process ${own.pid}`;
  const others = servers.flatMap(({ isThis, pid, url, liveView }) =>
    isThis || liveView === undefined ? [] : ` Process ${pid} has a live view at ${url}${liveView}.`,
  );
  return `The connection is lost. What you see may be out of date; trying again …${others.join("")}`;
};

const connection = find<HTMLElement>("#connection");
connect(`${location.pathname}/events`, {
  onBegin: (message) => {
    reset(model, message);
    selectFromAddress();
    names.find(message.actors.flatMap(({ kind, id }) => (kind === "task" ? id : [])));
    show();
  },
  onMore: (message) => {
    merge(model, message);
    names.find(message.actors.flatMap(({ kind, id }) => (kind === "task" ? id : [])));
    show();
  },
  onState: (state, servers) => {
    connection.dataset.state = state;
    connection.textContent = connectionText(state, servers);
  },
});
