import { show } from './behavior.ts'
import { isPlainJson, wellFormedJson } from './plain-json.ts'
import { copyJson } from './turn.ts'

/** What comes with a message and is never sent to a model: who sent it, a trace, a reply address. Plain JSON, small. */
export type Meta = Readonly<Record<string, unknown>>

/** In bytes of JSON: room for a trace with its baggage, and too little for content. */
export const mostMetaBytes = 8192

/** A copy of what was given as `meta`; throws where it is no small object of plain JSON. */
export function readMeta(meta: unknown, where: string): Meta | undefined {
  const flaw = metaFlaw(meta)
  if (flaw !== undefined) throw new TypeError(`${where} ${flaw}`)
  return meta === undefined ? undefined : wellFormedJson(copyJson(meta as Meta))
}

/** What is wrong with a `meta`, as the end of a sentence. */
export function metaFlaw(meta: unknown): string | undefined {
  if (meta === undefined) return undefined
  if (!isPlainJson(meta))
    return `must be an object of plain JSON such as { sender: 'ada' }, without dates, functions or instances, got ${show(meta)}`
  const bytes = new TextEncoder().encode(JSON.stringify(meta)).length
  if (bytes <= mostMetaBytes) return undefined
  return `has ${bytes} bytes as JSON and may have ${mostMetaBytes}; keep the rest elsewhere and name it here`
}

/** What messages have in common that become one turn; `undefined` where they differ. */
export function sharedMeta(messages: readonly { readonly meta?: Meta }[]): Meta | undefined {
  const [first] = messages
  const text = JSON.stringify(first?.meta)
  return messages.every(({ meta }) => JSON.stringify(meta) === text) ? first?.meta : undefined
}
