/** The names of the tools of the toolset `elisha`, which its specification fixes. In a file that loads nothing. */
export const TASK = "elisha_task";
export const OUTPUT = "elisha_task_output";
export const CANCEL = "elisha_task_cancel";
