import { visibleText } from '../../../platform/visible-text.ts'
import type { Replaced } from '../../../tools/matching/replace.ts'
import { formatLineNumbers } from '../../../tools/matching/text-lines.ts'
import { unifiedDiff } from '../../../tools/text/diff.ts'
import { definePlugin } from '../../plugin.ts'
import type { Tiddler } from '../knowledge-store.ts'
import { changePage, halfCharacters, writingTool } from './change-page.ts'
import { fenced, hasText, quoted } from './page-text.ts'
import { type InWorkspace, missingPage } from './wiki-tool.ts'

interface Input extends InWorkspace {
  readonly title: string
  readonly oldText: string
  readonly newText: string
  readonly replaceAll?: boolean
}

const mostOfDiff = 4000

/** Replaces a piece of the text of a page. */
export const editTiddler = definePlugin({
  toolId: 'edit-tiddler',
  displayName: 'Edit a wiki page',
  description: 'Replaces a piece of the text of a wiki page.',
  tools: (setup) => [
    writingTool<Input>(setup, {
      name: 'edit-tiddler',
      description: `Replaces a piece of the text of a page in a wiki. Everything else of the page stays as it is.
oldText must be in the page exactly once: include surrounding lines until it is unique, or set replaceAll to replace every occurrence.`,
      properties: {
        title: { type: 'string', description: 'The page.' },
        oldText: { type: 'string', description: 'The text to replace, exactly as it is in the page.' },
        newText: { type: 'string', description: 'The replacement.' },
        replaceAll: { type: 'boolean', description: 'Replace every occurrence. Default false.' },
      },
      required: ['title', 'oldText', 'newText'],
      flaw: (input) =>
        input.oldText === ''
          ? '"oldText" is empty: give the text to replace, or use wiki-operation with "append" or "set"'
          : halfCharacters(input, 'oldText', 'newText'),
      async execute(input, { knowledge, wiki }, ctx) {
        const { workspaceName, title } = input
        let made: { readonly edit: Replaced; readonly diff: string } | undefined
        const changed = await changePage(ctx, { knowledge, wiki, title }, async (present) => {
          if (!present) throw new Error(await missingPage(wiki, title, ctx.signal))
          made = await edited(present, input)
          return { ...present, text: made.edit.text }
        })
        const where = `${quoted(title)} in ${quoted(workspaceName)}`
        if (!made)
          return {
            output: `Edited ${where} (an earlier attempt of this call had already done it)`,
            details: { changed },
          }
        const { count, lineNumbers, moreLineNumbers, note } = made.edit
        const head = `Edited ${where} (${count === 1 ? '1 replacement' : `${count} replacements`}, ${formatLineNumbers(lineNumbers, moreLineNumbers)})`
        const output = [head, ...(note === undefined ? [] : [forPages(note)]), fenced(made.diff.trimEnd())].join('\n')
        return { output, details: { workspaceName, title, replacements: count, diff: made.diff } }
      },
    }),
  ],
})

async function edited(page: Tiddler, input: Input): Promise<{ edit: Replaced; diff: string }> {
  const { title, oldText, newText, replaceAll = false } = input
  if (!hasText(page)) throw new Error(`${quoted(title)} holds ${page.type}, not text, and cannot be edited`)
  const text = page.text ?? ''
  const { replaceText } = await import('../../../tools/matching/replace.ts')
  const edit = replaceText(
    text,
    { old: oldText, new: newText, all: replaceAll },
    { display: visibleText, maxLength: mostCharacters },
  )
  if (edit.type === 'refused') throw new Error(`${quoted(title)} was left as it is: ${forPages(edit.reason)}`)
  const diff = await unifiedDiff(title, text, edit.text, { context: 2, maxChars: mostOfDiff })
  return { edit, diff: visibleText(diff) }
}

const mostCharacters = 8 * 1024 * 1024

/** Replaces the terms of the file tools by those of this tool. The lines below the first quote the page after a label. */
function forPages(reason: string): string {
  const [first = '', ...quotes] = reason.split('\n')
  const said = first
    .replaceAll('old_string', 'oldText')
    .replaceAll('new_string', 'newText')
    .replaceAll('replace_all', 'replaceAll')
    .replaceAll('the file', 'the page')
  const rest = quotes.map((one) =>
    one.replace(/^( {2})old_string: /, '$1oldText:  ').replace(/^( {2})the file: {3}/, '$1the page: '),
  )
  return [said, ...rest].join('\n')
}
