import { pluralize } from '../../platform/format.ts'
import type { AnswerRow, Row } from '../../view/rows.ts'
import type { CommandContext } from '../command.ts'
import type { CommandWork } from '../lazy-command.ts'

export const copy: CommandWork = {
  complete(_, context) {
    const blocks = codeBlocks(lastAnswer(context))
    return blocks.map(({ language, text }, i) => ({
      text: String(i + 1),
      detail: `${language || 'code'}, ${pluralize(text.split('\n').length, 'line')}`,
    }))
  },
  async run(argument, context) {
    const answer = lastAnswer(context)
    if (answer === '') throw new Error('There is no answer to copy yet')
    const text = argument === '' ? answer : blockNumber(argument, answer)
    const way = await context.screen.copy(text)
    context.screen.print(`Copied ${pluralize(text.split('\n').length, 'line')} (${way})`)
  },
}

export const raw: CommandWork = {
  run(_, context) {
    const answer = lastAnswer(context)
    if (answer === '') throw new Error('There is no answer yet')
    context.screen.print(answer, { isRaw: true })
  },
}

/** The last answer as the model wrote it; empty without one. */
function lastAnswer({ chat }: Pick<CommandContext, 'chat'>): string {
  const { rows } = chat.state.view
  for (let i = rows.length - 1; i >= 0; i--) {
    const row = rows.at(i)
    if (isAnswer(row) && row.text.trim() !== '') return row.text.trim()
  }
  return ''
}

const isAnswer = (row: Row | undefined): row is AnswerRow => row?.kind === 'answer'

function blockNumber(argument: string, answer: string): string {
  const blocks = codeBlocks(answer)
  const block = /^\d{1,4}$/.test(argument) ? blocks[Number(argument) - 1] : undefined
  if (block) return block.text
  const count = blocks.length === 0 ? 'no code block' : pluralize(blocks.length, 'code block')
  throw new Error(`The last answer has ${count}; /copy ${argument} asks for another one`)
}

interface CodeBlock {
  readonly language: string
  readonly text: string
}

/** The fenced blocks of a Markdown text. One that is not closed goes to its end. */
export function codeBlocks(markdown: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = []
  let open: { fence: string; indent: number; language: string; lines: string[] } | undefined
  for (const line of markdown.split('\n')) {
    const [, indent = '', fence = '', info = ''] = /^([ \t]*)(`{3,}|~{3,})[ \t]*(.*)$/.exec(line) ?? []
    const closes = open && fence.startsWith(open.fence) && info.trim() === ''
    if (open && closes) {
      blocks.push({ language: open.language, text: open.lines.join('\n') })
      open = undefined
    } else if (open) open.lines.push(withoutIndent(line, open.indent))
    else if (fence !== '')
      open = { fence, indent: indent.length, language: info.trim().split(/\s/)[0] ?? '', lines: [] }
  }
  if (open) blocks.push({ language: open.language, text: open.lines.join('\n') })
  return blocks
}

/** A fence inside a list is indented, and so is its code. */
const withoutIndent = (line: string, indent: number): string => {
  const own = line.length - line.trimStart().length
  return line.slice(Math.min(indent, own))
}
