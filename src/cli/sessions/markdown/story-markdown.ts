import type { SessionContentBlock } from '../../../core/turn.ts'
import { fullyVisible, visibleText } from '../../../platform/visible-text.ts'
import { escapeHtml } from '../page/escape-html.ts'
import { aboutOf } from '../story/about-story.ts'
import { decisionWords, describeCall, markOf } from '../story/call-words.ts'
import { editDiff } from '../story/edit-diff.ts'
import { outputText } from '../story/output-text.ts'
import {
  type CallPart,
  type ChildStory,
  childrenApart,
  type SaidPart,
  type Story,
  type StoryPart,
} from '../story/story.ts'
import { dateOf } from '../time-words.ts'
import { fenced, longestTicks } from './fenced.ts'
import { harmlessMarkdown } from './harmless-markdown.ts'

/** A session as Markdown: what was said as it was written, what was done to be unfolded. */
export async function storyMarkdown(story: Story): Promise<string> {
  const about = aboutOf(story).map(([name, value]) => `- ${name}: ${inCode(value)}`)
  const title = harmlessMarkdown(fullyVisible(story.title || story.id))
  const text = [`# ${title}`, about.join('\n'), ...(await partsOf(story))].join('\n\n')
  return `${text.toWellFormed()}\n`
}

async function partsOf(story: Story): Promise<string[]> {
  const parts: string[] = []
  for (const part of story.parts) parts.push(await partOf(part, story))
  for (const child of childrenApart(story)) parts.push(await childOf(child))
  return parts
}

async function partOf(part: StoryPart, story: Story): Promise<string> {
  if (part.type === 'said') return said(part)
  if (part.type === 'note') return quoted(harmlessMarkdown(visibleText(part.text)))
  const { text } = markOf(part)
  const summary = `<strong>${html(part.name)}</strong> ${html(describeCall(part))}${text === '' ? '' : ` (${text})`}`
  const inside = await callParts(part)
  for (const child of story.children) if (child.callId === part.id) inside.push(await childOf(child))
  return unfolding(summary, inside)
}

function said({ who, at, model, content }: SaidPart): string {
  const name = who === 'user' ? 'You' : `Assistant${model === undefined ? '' : `, ${inCode(model)}`}`
  return [`## ${name}, ${dateOf(at)}`, ...content.flatMap((block) => blockOf(block, who))].join('\n\n')
}

function blockOf(block: SessionContentBlock, who: SaidPart['who']): string[] {
  switch (block.type) {
    case 'text': {
      const text = harmlessMarkdown(visibleText(block.text))
      return [who === 'user' ? quoted(text) : text]
    }
    case 'thinking':
      return block.text.trim() === '' ? [] : [unfolding('Thinking', [fenced(visibleText(block.text))])]
    case 'image':
    case 'document':
      return [`*(${block.type} ${inCode(block.mediaType)}, not part of this file)*`]
    default:
      return []
  }
}

async function callParts({ input, output, approvals }: CallPart): Promise<string[]> {
  const diff = await editDiff(input)
  const decisions = approvals.map((one) => inCode(decisionWords(one)))
  const asked = diff ? fenced(shown(diff.join('\n')), 'diff') : fenced(shown(JSON.stringify(input, null, 2)), 'json')
  return [...decisions, asked, ...(output === undefined ? [] : [fenced(visibleText(outputText(output)))])]
}

const shown = (text: string): string => fullyVisible(text, { lines: 'kept' })

async function childOf(child: ChildStory): Promise<string> {
  return unfolding(`Sub-agent: ${html(child.title || child.id)}`, await partsOf(child))
}

/** Blank lines around the parts make them Markdown again. */
const unfolding = (summary: string, parts: readonly string[]): string =>
  ['<details>', `<summary>${summary}</summary>`, '', parts.join('\n\n'), '', '</details>'].join('\n')

const html = (text: string): string => escapeHtml(fullyVisible(text))
const quoted = (text: string): string =>
  text
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
    .join('\n')

/** A value on one line, in as many backticks as it takes. */
function inCode(value: string): string {
  const line = fullyVisible(value)
  const longest = longestTicks(line)
  const ticks = '`'.repeat(longest + 1)
  const pad = longest > 0 ? ' ' : ''
  return line === '' ? '' : `${ticks}${pad}${line}${pad}${ticks}`
}
