import { createHash } from 'node:crypto'
import type { DocumentBlock, SessionContentBlock, ToolOutput } from '../../../core/turn.ts'
import { formatDate } from '../../../tui/rows/format.ts'
import { callStatus, decisionText, describeCall } from '../transcript-view/call-text.ts'
import { editDiff } from '../transcript-view/edit-diff.ts'
import { headerRows } from '../transcript-view/header-rows.ts'
import { outputText } from '../transcript-view/output-text.ts'
import {
  type CallPart,
  type ChildTranscriptView,
  type MessagePart,
  type TranscriptPart,
  type TranscriptView,
  unplacedChildren,
} from '../transcript-view/transcript-view.ts'
import { diffHtml, exactHtml, imageHtml, looksLikeDiff, textHtml } from './html.ts'
import { type MarkdownRenderer, markdownRenderer } from './markdown-renderer.ts'
import { pageStyle } from './page-style.ts'

/** A session as one HTML page without scripts or external resources; its security policy forbids both. */
export async function transcriptPage(
  transcript: TranscriptView,
  { isRedacted }: { readonly isRedacted: boolean },
): Promise<string> {
  const markdown = markdownRenderer()
  try {
    const title = exactHtml(transcript.title || transcript.id)
    const header = headerRows(transcript).map(([name, value]) => `<dt>${name}</dt><dd>${exactHtml(value)}</dd>`)
    return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${pageStyle}</style>
</head>
<body>
<header>
<h1 dir="auto">${title}</h1>
<dl>
${header.join('\n')}
</dl>
</header>
<main>
${await transcriptParts(transcript, markdown)}</main>
<footer>A session of Libero. Remote images were left out${isRedacted ? ', and so was everything that looked like a secret' : ''}.</footer>
</body>
</html>
`
  } finally {
    await markdown.close()
  }
}

const styleDigest = createHash('sha256').update(pageStyle).digest('base64')
const policy = `default-src 'none'; style-src 'sha256-${styleDigest}'; img-src data:; base-uri 'none'; form-action 'none'`

/** Messages as articles, calls as foldable sections. */
async function transcriptParts(transcript: TranscriptView, markdown: MarkdownRenderer): Promise<string> {
  let html = ''
  for (const part of transcript.parts) html += await partHtml(part, transcript, markdown)
  for (const child of unplacedChildren(transcript)) html += await childHtml(child, markdown)
  return html
}

async function partHtml(part: TranscriptPart, transcript: TranscriptView, markdown: MarkdownRenderer): Promise<string> {
  if (part.type === 'note') return `<div class="note">${textHtml(part.text)}</div>\n`
  if (part.type === 'said') return messageHtml(part, markdown)
  const children = transcript.children.filter(({ callId }) => callId === part.id)
  let inside = await callHtml(part)
  for (const child of children) inside += await childHtml(child, markdown)
  const { tone, text } = callStatus(part)
  const mark = text === '' ? '' : ` <span class="mark ${tone}">${text}</span>`
  const summary = `<strong>${exactHtml(part.name)}</strong> <span class="what">${exactHtml(describeCall(part))}</span>${mark}`
  return `<details class="call"><summary>${summary}</summary>\n${inside}</details>\n`
}

async function messageHtml({ who, at, model, content }: MessagePart, markdown: MarkdownRenderer): Promise<string> {
  const name = who === 'user' ? 'You' : `Assistant${model === undefined ? '' : ` · ${exactHtml(model)}`}`
  let inside = ''
  for (const block of content) inside += await blockHtml(block, who, markdown)
  return `<article class="${who === 'user' ? 'user' : 'assistant'}" dir="auto">\n<div class="who">${name} · ${formatDate(at)}</div>\n${inside}</article>\n`
}

async function blockHtml(
  block: SessionContentBlock,
  who: MessagePart['who'],
  markdown: MarkdownRenderer,
): Promise<string> {
  switch (block.type) {
    case 'text':
      if (who === 'user') return `<div class="plain">${textHtml(block.text)}</div>\n`
      return markdown.render(block.text)
    case 'thinking':
      if (block.text.trim() === '') return ''
      return `<details class="thinking"><summary>Thinking</summary><div class="plain">${textHtml(block.text)}</div></details>\n`
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
  const approval = approvals.map((one) => `<p class="label">${exactHtml(decisionText(one))}</p>\n`).join('')
  return `${approval}${diff ? diffHtml(diff) : preformatted('Input', inputText(input))}${output === undefined ? '' : outputHtml(output)}`
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
      return looksLikeDiff(text)
        ? diffHtml(text.slice(0, mostShown).split('\n'))
        : preformatted('Output', text, textHtml)
    })
    .join('')
}

const documentHtml = ({ mediaType, name = '' }: DocumentBlock): string =>
  `<p class="gone">[document ${exactHtml(`${name} ${mediaType}`.trim())}, not shown]</p>\n`

const mostShown = 100_000

function preformatted(label: string, text: string, shown = exactHtml): string {
  const left = text.length - mostShown
  const more = left > 0 ? `\n… ${left.toLocaleString('en')} more characters; the JSONL export has them` : ''
  return `<div class="label">${label}</div><pre>${shown(text.slice(0, mostShown))}${more}</pre>\n`
}

async function childHtml(child: ChildTranscriptView, markdown: MarkdownRenderer): Promise<string> {
  const title = exactHtml(child.title || child.id)
  return `<details class="child"><summary>Sub-agent: ${title}</summary>\n${await transcriptParts(child, markdown)}</details>\n`
}
