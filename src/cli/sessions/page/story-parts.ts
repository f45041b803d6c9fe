import type { DocumentBlock, SessionContentBlock, ToolOutput } from '../../../core/turn.ts'
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
import { diffHtml, looksLikeDiff } from './diff-html.ts'
import { shownExactly, shownText } from './escape-html.ts'
import { imageHtml } from './image-html.ts'
import type { MarkdownRenderer } from './markdown-renderer.ts'

/** What was said and done, as articles and things to unfold. */
export async function storyParts(story: Story, markdown: Pick<MarkdownRenderer, 'render'>): Promise<string> {
  let html = ''
  for (const part of story.parts) html += await partHtml(part, story, markdown)
  for (const child of childrenApart(story)) html += await childHtml(child, markdown)
  return html
}

async function partHtml(part: StoryPart, story: Story, markdown: Pick<MarkdownRenderer, 'render'>): Promise<string> {
  if (part.type === 'note') return `<div class="note">${shownText(part.text)}</div>\n`
  if (part.type === 'said') return saidHtml(part, markdown)
  const children = story.children.filter(({ callId }) => callId === part.id)
  let inside = await callHtml(part)
  for (const child of children) inside += await childHtml(child, markdown)
  const { tone, text } = markOf(part)
  const mark = text === '' ? '' : ` <span class="mark ${tone}">${text}</span>`
  const summary = `<strong>${shownExactly(part.name)}</strong> <span class="what">${shownExactly(describeCall(part))}</span>${mark}`
  return `<details class="call"><summary>${summary}</summary>\n${inside}</details>\n`
}

async function saidHtml(
  { who, at, model, content }: SaidPart,
  markdown: Pick<MarkdownRenderer, 'render'>,
): Promise<string> {
  const name = who === 'user' ? 'You' : `Assistant${model === undefined ? '' : ` · ${shownExactly(model)}`}`
  let inside = ''
  for (const block of content) inside += await blockHtml(block, who, markdown)
  return `<article class="${who === 'user' ? 'user' : 'assistant'}" dir="auto">\n<div class="who">${name} · ${dateOf(at)}</div>\n${inside}</article>\n`
}

async function blockHtml(
  block: SessionContentBlock,
  who: SaidPart['who'],
  markdown: Pick<MarkdownRenderer, 'render'>,
): Promise<string> {
  switch (block.type) {
    case 'text':
      if (who === 'user') return `<div class="plain">${shownText(block.text)}</div>\n`
      return markdown.render(block.text)
    case 'thinking':
      if (block.text.trim() === '') return ''
      return `<details class="thinking"><summary>Thinking</summary><div class="plain">${shownText(block.text)}</div></details>\n`
    case 'image':
      return imageHtml(block)
    case 'document':
      return documentHtml(block)
    default:
      return ''
  }
}

async function callHtml({ input, output, approvals }: CallPart): Promise<string> {
  const diff = await editDiff(input)
  const approval = approvals.map((one) => `<p class="label">${shownExactly(decisionWords(one))}</p>\n`).join('')
  return `${approval}${diff ? diffHtml(diff) : pre('Input', inputText(input))}${output === undefined ? '' : outputHtml(output)}`
}

function inputText(input: CallPart['input']): string {
  const { command, ...rest } = input
  if (typeof command === 'string' && Object.keys(rest).length === 0) return command
  return JSON.stringify(input, null, 2)
}

function outputHtml(output: ToolOutput): string {
  const blocks = typeof output === 'string' ? [{ type: 'text' as const, text: output }] : output
  return blocks
    .map((block) => {
      if (block.type === 'image') return imageHtml(block)
      if (block.type === 'document') return documentHtml(block)
      const text = outputText([block])
      return looksLikeDiff(text) ? diffHtml(text.slice(0, mostShown).split('\n')) : pre('Output', text, shownText)
    })
    .join('')
}

const documentHtml = ({ mediaType, name = '' }: DocumentBlock): string =>
  `<p class="gone">[document ${shownExactly(`${name} ${mediaType}`.trim())}, not shown]</p>\n`

const mostShown = 100_000

function pre(label: string, text: string, shown = shownExactly): string {
  const left = text.length - mostShown
  const more = left > 0 ? `\n… ${left.toLocaleString('en')} more characters; the JSONL export has them` : ''
  return `<div class="label">${label}</div><pre>${shown(text.slice(0, mostShown))}${more}</pre>\n`
}

async function childHtml(child: ChildStory, markdown: Pick<MarkdownRenderer, 'render'>): Promise<string> {
  const title = shownExactly(child.title || child.id)
  return `<details class="child"><summary>Sub-agent: ${title}</summary>\n${await storyParts(child, markdown)}</details>\n`
}
