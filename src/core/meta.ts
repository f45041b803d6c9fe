import { show } from './behavior.ts'
import { isPlainJson, wellFormedJson } from './plain-json.ts'
import { copyJson } from './turn.ts'

/** Data that is stored with a message and never sent to a model: its sender, a trace, a reply address. Small, plain JSON. */
export type Meta = Readonly<Record<string, unknown>>

/** In bytes of JSON: enough for a trace with its baggage, too little for content. */
const maxMetaBytes = 8192

/** A copy of a `meta`; throws if it is not a small object of plain JSON. */
export function parseMeta(meta: unknown, where: string): Meta | undefined {
  const flaw = metaFlaw(meta)
  if (flaw !== undefined) throw new TypeError(`${where} ${flaw}`)
  return meta === undefined ? undefined : wellFormedJson(copyJson(meta as Meta))
}

/** What is wrong with a `meta`: the end of a sentence that begins with its name. */
export function metaFlaw(meta: unknown): string | undefined {
  if (meta === undefined) return undefined
  if (!isPlainJson(meta))
    return `must be an object of plain JSON such as { sender: 'ada' }, without dates, functions or instances, got ${show(meta)}`
  const bytes = new TextEncoder().encode(JSON.stringify(meta)).length
  if (bytes <= maxMetaBytes) return undefined
  return `has ${bytes} bytes as JSON and may have ${maxMetaBytes}; keep the rest elsewhere and name it here`
}

/** The `meta` of a turn that delivers these messages; `undefined` if theirs differ. */
export function sharedMeta(messages: readonly { readonly meta?: Meta }[]): Meta | undefined {
  const [first] = messages
  const text = JSON.stringify(first?.meta)
  return messages.every(({ meta }) => JSON.stringify(meta) === text) ? first?.meta : undefined
}

type ReadTrace = () => Readonly<Record<string, string>>

let readTrace: ReadTrace | undefined

/** Sets how the context of the active trace is read, for this process: `traceparent`, `tracestate`, `baggage`. */
export function useTraceContext(how: ReadTrace): void {
  readTrace = how
}

/** The context of the active trace, for requests to MCP servers and the environment of commands. Empty without tracing. */
export function traceContext(): Readonly<Record<string, string>> {
  return readTrace?.() ?? {}
}

/** The same as environment variables: `TRACEPARENT`, `TRACESTATE`, `BAGGAGE`. */
export function traceVariables(): Readonly<Record<string, string>> | undefined {
  if (!readTrace) return undefined
  return Object.fromEntries(Object.entries(readTrace()).map(([name, value]) => [name.toUpperCase(), value]))
}
