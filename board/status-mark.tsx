import type { ComponentChild } from "preact";
import { type Mark, type Marked, markOf } from "./mark.ts";

const SHAPES: Readonly<Record<Mark, ComponentChild>> = {
  queued: <circle cx="8" cy="8" r="6" class="line dashed" />,
  running: (
    <>
      <circle cx="8" cy="8" r="6" class="line faint" />
      <path d="M8 2a6 6 0 0 1 6 6" class="line turning" />
    </>
  ),
  waiting: (
    <>
      <path d="M8 1.2 15.2 14H.8Z" class="solid" />
      <path d="M8 6v4M8 11.6v.6" class="inner" />
    </>
  ),
  stale: (
    <>
      <circle cx="8" cy="8" r="6" class="line" />
      <path d="M8 4.8V8l2.2 1.6" class="line" />
    </>
  ),
  completed: (
    <>
      <circle cx="8" cy="8" r="7" class="solid" />
      <path d="m4.8 8.2 2.2 2.2 4.2-4.6" class="inner" />
    </>
  ),
  error: (
    <>
      <path d="M5 1h6l4 4v6l-4 4H5l-4-4V5Z" class="solid" />
      <path d="m5.6 5.6 4.8 4.8m0-4.8-4.8 4.8" class="inner" />
    </>
  ),
  cancelled: (
    <>
      <circle cx="8" cy="8" r="6" class="line" />
      <path d="m4 12 8-8" class="line" />
    </>
  ),
};

/** The mark of a task: its shape says the status to those who cannot tell colours apart. */
export const StatusMark = ({ task, size = 16 }: { task: Marked; size?: number }) => {
  const mark = markOf(task);
  return (
    <svg class={`mark ${mark}`} viewBox="0 0 16 16" width={size} height={size} aria-hidden="true">
      {SHAPES[mark]}
    </svg>
  );
};
