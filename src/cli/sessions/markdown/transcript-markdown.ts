import type { SessionContentBlock } from '../../../core/turn.ts'
import { fullyVisible, visibleText } from '../../../platform/visible-text.ts'
import { formatDate } from '../../../tui/rows/format.ts'
import { callStatus, decisionText, describeCall, outputText } from '../transcript-view/call-text.ts'
import { editDiff } from '../transcript-view/edit-diff.ts'
import { headerRows } from '../transcript-view/header-rows.ts'
import {
  type CallPart,
  type ChildTranscriptView,
  type MessagePart,
  type TranscriptPart,
  type TranscriptView,
  unplacedChildren,
} from '../transcript-view/transcript-view.ts'
import { harmlessMarkdown } from './harmless-markdown.ts'

/** A session as Markdown: messages as they were written, calls in foldable sections. */
export async function transcriptMarkdown(transcript: TranscriptView): Promise<string> {
  const header = headerRows(transcript).map(([name, value]) => `- ${name}: ${inCode(value)}`)
  const title = harmlessMarkdown(fullyVisible(transcript.title || transcript.id))
  const text = [`# ${title}`, header.join('\n'), ...(await partsOf(transcript))].join('\n\n')
  return `${text.toWellFormed()}\n`
}

async function partsOf(transcript: TranscriptView): Promise<string[]> {
  const parts: string[] = []
  for (const part of transcript.parts) parts.push(await partOf(part, transcript))
  for (const child of unplacedChildren(transcript)) parts.push(await childOf(child))
  return parts
}

async function partOf(part: TranscriptPart, transcript: TranscriptView): Promise<string> {
  if (part.type === 'said') return message(part)
  if (part.type === 'note') return quoted(harmlessMarkdown(visibleText(part.text)))
  const { text } = callStatus(part)
  const summary = `<strong>${html(part.name)}</strong> ${html(describeCall(part))}${text === '' ? '' : ` (${text})`}`
  const inside = await callParts(part)
  for (const child of transcript.children) if (child.callId === part.id) inside.push(await childOf(child))
  return foldable(summary, inside)
}

function message({ who, at, model, content }: MessagePart): string {
  const name = who === 'user' ? 'You' : `Assistant${model === undefined ? '' : `, ${inCode(model)}`}`
  return [`## ${name}, ${formatDate(at)}`, ...content.flatMap((block) => blockOf(block, who))].join('\n\n')
}

function blockOf(block: SessionContentBlock, who: MessagePart['who']): string[] {
  switch (block.type) {
    case 'text': {
      const text = harmlessMarkdown(visibleText(block.text))
      return [who === 'user' ? quoted(text) : text]
    }
    case 'thinking':
      return block.text.trim() === '' ? [] : [foldable('Thinking', [fenced(visibleText(block.text))])]
    case 'image':
    case 'document':
      return [`*(${block.type} ${inCode(block.mediaType)}, not part of this file)*`]
    default:
      return []
  }
}

async function callParts({ input, output, approvals }: CallPart): Promise<string[]> {
  const diff = await editDiff(input)
  const decisions = approvals.map((one) => inCode(decisionText(one)))
  const asked = diff ? fenced(shown(diff.join('\n')), 'diff') : fenced(shown(JSON.stringify(input, null, 2)), 'json')
  return [...decisions, asked, ...(output === undefined ? [] : [fenced(visibleText(outputText(output)))])]
}

const shown = (text: string): string => fullyVisible(text, { lines: 'kept' })

async function childOf(child: ChildTranscriptView): Promise<string> {
  return foldable(`Sub-agent: ${html(child.title || child.id)}`, await partsOf(child))
}

/** Blank lines around the parts make renderers parse them as Markdown. */
const foldable = (summary: string, parts: readonly string[]): string =>
  ['<details>', `<summary>${summary}</summary>`, '', parts.join('\n\n'), '', '</details>'].join('\n')

const html = (text: string): string => escapeHtml(fullyVisible(text))
const quoted = (text: string): string =>
  text
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
    .join('\n')

/** A value on one line as a code span with enough backticks. */
function inCode(value: string): string {
  const line = fullyVisible(value)
  const longest = longestTicks(line)
  const ticks = '`'.repeat(longest + 1)
  const pad = longest > 0 ? ' ' : ''
  return line === '' ? '' : `${ticks}${pad}${line}${pad}${ticks}`
}

/** A code block with a fence that is longer than any in the text. */
export function fenced(text: string, language = ''): string {
  const fence = '`'.repeat(Math.max(3, longestTicks(text) + 1))
  return `${fence}${language}\n${text.replace(/\n$/, '')}\n${fence}`
}

/** The length of the longest run of backticks. */
function longestTicks(text: string): number {
  let longest = 0
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length)
  return longest
}

/** Escapes text for use between tags. */
const escapeHtml = (text: string): string => text.toWellFormed().replace(/[&<>"'`]/g, (sign) => entities[sign]!)

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
}
