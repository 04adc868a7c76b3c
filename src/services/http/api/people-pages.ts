import type { App } from "../access/request-handling.ts";
import { respondWithDocument } from "../document.ts";
import type { AppDeps } from "./app-context.ts";
import { type ApiDocument, writeReference } from "./reference.ts";

/** Registers the pages for people: the board at `/`, and the description of the API at `/docs`. */
export const registerPeoplePages = (
  app: App,
  { documents, live, log, prove }: Pick<AppDeps, "documents" | "live" | "log" | "prove">,
  openApi: () => unknown,
): void => {
  if (!documents) return;
  const liveView = () => live.find(({ page }) => page.path === "/inspect" && page.source.isOn())?.page.path ?? "";

  app.get("/", (c) =>
    respondWithDocument(
      c,
      { html: () => documents.board().replaceAll("{{live-view}}", liveView()), asksOthers: true },
      { log, prove },
    ),
  );

  app.get("/docs", (c) => {
    const html = () =>
      documents.reference().replaceAll("{{reference}}", () => writeReference(openApi() as ApiDocument));
    return respondWithDocument(c, { html }, { log, prove });
  });
};
