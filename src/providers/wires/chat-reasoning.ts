import { isText } from './is-text.ts'

/** One of OpenRouter's `reasoning_details`. */
export type Detail = Record<string, unknown>

/** Pieces of one text are put together again; what is encrypted stays as it came. */
export function addDetail(details: Detail[], detail: Detail): void {
  const last = details.at(-1)
  const field = detailTexts.get(detail.type)
  if (!field || !last || last.type !== detail.type || last.index !== detail.index) {
    details.push({ ...detail })
    return
  }
  last[field] = detailText(last) + detailText(detail)
  for (const name of ['id', 'format', 'signature'] as const) if (isText(detail[name])) last[name] = detail[name]
}

export function detailText(detail: Detail): string {
  const text = detail[detailTexts.get(detail.type) ?? 'text']
  return isText(text) ? text : ''
}

const detailTexts: ReadonlyMap<unknown, 'text' | 'summary'> = new Map([
  ['reasoning.text', 'text'],
  ['reasoning.summary', 'summary'],
])
