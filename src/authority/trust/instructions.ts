import { type ReadingBudget, readInside, readingBudget } from '../../platform/source-files.ts'
import { withoutHidden } from '../../platform/visible-text.ts'
import type { ProjectItem } from './project-items.ts'

/** A project's words for the model. */
export interface Instructions {
  readonly id: string
  readonly path: string
  readonly text: string
  /** How many characters were left out because no person can see them. */
  readonly stripped: number
}

/** A text without what only a model would read: tags, bidi and zero-width characters. An emoji keeps its parts. */
export function cleanInstructions(text: string): { readonly text: string; readonly stripped: number } {
  const { text: rest, hidden } = withoutHidden(text.replace(/^\ufeff/, ''))
  let stripped = hidden
  const clean = rest.replace(invisible, () => {
    stripped++
    return ''
  })
  return { text: clean, stripped }
}

/** What one file of instructions may have. */
export function instructionsBudget(): ReadingBudget {
  return readingBudget({ files: 1, mebibytes: 1 })
}

/** The instructions in an accepted item, or undefined when the file is not what was accepted any more. */
export async function readInstructions(
  root: string,
  { id, path, files }: ProjectItem,
): Promise<Instructions | undefined> {
  const file = await readInside(root, path, instructionsBudget()).catch(() => undefined)
  const [accepted] = files.values()
  if (!file || file.digest !== accepted) return undefined
  return { id, path, ...cleanInstructions(file.text) }
}

const invisible =
  /(?<!\p{Extended_Pictographic}|[0-9#*])\ufe0f|(?<!\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d|\u200d(?!\p{Extended_Pictographic})|(?!\u200d|\ufe0f)\p{Default_Ignorable_Code_Point}|[\ufff9-\ufffb]/gu
