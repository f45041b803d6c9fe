import type { PersistentList, Row, SessionContentBlock } from '../libero.ts'

/** The indexes of rows that have the words, in any case. Rows that are out of sight are not in the document. */
export function rowsWith(rows: PersistentList<Row>, words: string): number[] {
  const wanted = words.trim().toLowerCase()
  if (wanted === '') return []
  const hits: number[] = []
  let at = 0
  for (const row of rows) {
    if (textsOf(row).some((text) => text.toLowerCase().includes(wanted))) hits.push(at)
    at++
  }
  return hits
}

/** All that a row shows, opened or not. */
function textsOf(row: Row): readonly string[] {
  switch (row.kind) {
    case 'message':
      return row.content.map(textOf)
    case 'answer':
      return [row.text, row.thinking]
    case 'call':
      return [row.name, JSON.stringify(row.input), ...(row.result ? [outputText(row.result.output)] : [])]
    case 'notice':
      return [row.text]
    case 'compaction':
      return row.summary.map(textOf)
  }
}

const textOf = (block: SessionContentBlock): string => (block.type === 'text' ? block.text : '')

/** The text of what a tool gave back. */
export function outputText(output: string | readonly { readonly type: string }[]): string {
  return typeof output === 'string' ? output : output.map((part) => textOf(part as SessionContentBlock)).join('\n')
}
