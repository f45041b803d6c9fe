type Read = () => Readonly<Record<string, string>>

let read: Read | undefined

/** Sets how the context of the active trace is read, for this process: `traceparent`, `tracestate`, `baggage`. */
export function useTraceContext(how: Read): void {
  read = how
}

/** The context of the active trace, for requests to MCP servers and the environment of commands. Empty without tracing. */
export function traceContext(): Readonly<Record<string, string>> {
  return read?.() ?? {}
}

/** The same as environment variables: `TRACEPARENT`, `TRACESTATE`, `BAGGAGE`. */
export function traceVariables(): Readonly<Record<string, string>> | undefined {
  if (!read) return undefined
  return Object.fromEntries(Object.entries(read()).map(([name, value]) => [name.toUpperCase(), value]))
}
