import { sealUntrusted } from '../../platform/envelope.ts'
import type { Passage } from './render.ts'
import { cutMiddle, levelFor } from './shorten.ts'
import { bytesOf } from './sizes.ts'

/** A summary that needs no model: what the user said, what was said and done in answer, and the files it was about. */
export function summaryByRule(
  { passages, previous, files }: { passages: readonly Passage[]; previous: string; files: readonly string[] },
  most: number,
): string {
  const sections: string[] = []
  let left = most - 160 // the headings
  const add = (title: string, text: string, share: number): void => {
    const cut = text === '' ? '' : cutMiddle(text, Math.max(Math.floor(share), 0))
    if (cut === '') return
    sections.push(`## ${title}\n${cut}`)
    left -= bytesOf(cut)
  }
  add('Before', previous, left * 0.3)
  const said = passages.filter(({ kind }) => kind === 'user').map(({ body }) => body.trim())
  add('What the user said', fitted(said, left * 0.5), left * 0.5)
  add('Files', fitted(files, left * 0.2), left * 0.2)
  add('What was done', newest(steps(passages), left), left)
  return cutMiddle(sections.join('\n'), most)
}

/** All of them, each cut as far as it takes; where even that is too much, the first and the newest. */
function fitted(texts: readonly string[], budget: number): string {
  const most = Math.max(Math.floor(budget / 120), 1)
  const kept = texts.length <= most ? texts : [texts[0]!, `(${texts.length - most} left out)`, ...texts.slice(1 - most)]
  const sizes = kept.map((text) => bytesOf(text) + 3)
  const level = levelFor(sizes, budget)
  return kept.map((text) => `- ${cutMiddle(text, Math.min(Math.max(level - 3, 10), mostOfOne))}`).join('\n')
}

const mostOfOne = 4_000

/** One line for each thing said or done; a call and what came of it are one. */
function steps(passages: readonly Passage[]): string[] {
  const results = new Map(passages.flatMap((one) => (one.kind === 'result' ? [[one.callId, one] as const] : [])))
  return passages.flatMap(({ kind, head, body, callId }) => {
    if (kind === 'assistant') return [`- said: ${firstLine(body)}`]
    if (kind !== 'call') return []
    const result = results.get(callId)
    const outcome = result ? outcomeOf(result) : 'no result'
    return [`- ${head.replace(/^Assistant calls |:$/g, '')} ${cutMiddle(body, 120).replaceAll('\n', ' ')} → ${outcome}`]
  })
}

const outcomeOf = ({ isError, body }: Passage): string =>
  isError ? `error: ${sealUntrusted(firstLine(body)).text}` : `done, ${bytesOf(body)} bytes`

function firstLine(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? ''
  return line.length > 160 ? `${line.slice(0, 160)}…` : line
}

function newest(lines: readonly string[], budget: number): string {
  let left = budget - 40
  let from = lines.length
  while (from > 0 && left >= bytesOf(lines[from - 1]!) + 1) left -= bytesOf(lines[--from]!) + 1
  const note = from > 0 ? [`(${from} earlier steps left out)`] : []
  return [...note, ...lines.slice(from)].join('\n')
}
