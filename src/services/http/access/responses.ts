/**
 * The headers that the specification asks for on every answer. They let a page read what it is given; whether it is
 * given anything is decided by `refusalOf`.
 */
export const CORS: Readonly<Record<string, string>> = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": "GET, OPTIONS",
  "Access-Control-Allow-Headers": "Content-Type",
};

/** What goes out beside them: tasks change all the time and are private, and no answer is to be taken for a page. */
const ALWAYS: Readonly<Record<string, string>> = {
  ...CORS,
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
};

/** The answer with the headers that every answer has. */
export const withCors = (response: Response): Response => {
  for (const [name, value] of Object.entries(ALWAYS)) response.headers.set(name, value);
  return response;
};

/** The answer to whatever OPTIONS request. */
export const preflight = (): Response => withCors(new Response(null, { status: 204 }));

/** An error as every route gives it: `{ error, status }`. */
export const errorAnswer = (status: number, error: string, headers: Record<string, string> = {}): Response =>
  withCors(Response.json({ error, status }, { status, headers }));
