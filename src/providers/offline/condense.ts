import { type Message, textOf } from '../../core/turn.ts'
import { brief } from './results.ts'

/** Whether somebody asks for a summary of a record, as compaction does. */
export function isSummaryRequest(system: string, messages: readonly Message[]): boolean {
  const last = messages.at(-1)
  return (
    messages.length === 1 &&
    /\b(?:condense|summar)/i.test(system) &&
    last !== undefined &&
    textOf(last).includes('<record')
  )
}

/** An extract of the record: what the user said and which tools were called, word for word, the latest at the end. */
export function condense(system: string, messages: readonly Message[]): string {
  const text = textOf(messages.at(-1)!)
  const words = Number(/at most (\d{1,6}) words/.exec(system)?.[1] ?? 100)
  const room = Math.min(Math.max(words * 6, 300), 4000)
  const most = Math.max(2, Math.floor((room - honest.length - 40) / pointSize))
  const before = /<previous_summary>\n(.*?)\n<\/previous_summary>/s.exec(text.slice(0, 20_000))?.[1] ?? ''
  const earlier = before.split('\n').filter((line) => line.startsWith('- ') && line !== honest)
  const goals = [...earlier, ...passages(text, /^User:$/).map(({ body }) => point(body))].slice(-Math.ceil(most / 2))
  const deeds = passages(text, /^(?:Assistant calls|Error of) .{1,80}:$/).slice(goals.length - most)
  const lines = ['## Goal', honest, ...goals, '## State', ...deeds.map(({ head, body }) => point(`${head} ${body}`))]
  return cutBytes(lines.join('\n'), room)
}

const honest = '- (an extract made by rules, not by a language model)'
const pointSize = 100
const point = (line: string): string => `- ${brief(line, pointSize - 10)}`

/** What stands below the heads that fit, up to the next head. */
function passages(text: string, head: RegExp): { head: string; body: string }[] {
  const found: { head: string; body: string[] }[] = []
  let isOpen = false
  for (const line of text.slice(text.indexOf('<record')).slice(-400_000).split('\n')) {
    const isHead = line.length < 120 && /^(?:User|Assistant|Assistant calls .+|Result of .+|Error of .+):$/.test(line)
    if (isHead) isOpen = head.test(line)
    if (isHead && isOpen) found.push({ head: line, body: [] })
    else if (isOpen && !line.startsWith('</record') && (found.at(-1)?.body.length ?? 9) < 4)
      found.at(-1)!.body.push(line)
  }
  return found.map(({ head: name, body }) => ({ head: name, body: body.join(' ') }))
}

/** What is cut counts in bytes, as the one who asked does. */
function cutBytes(text: string, most: number): string {
  const bytes = new TextEncoder().encode(text)
  return bytes.length <= most ? text : new TextDecoder().decode(bytes.slice(0, most)).replace(/\ufffd+$/, '')
}
