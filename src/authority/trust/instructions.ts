import { realpath } from 'node:fs/promises'
import { dirname, relative } from 'node:path'
import { codeOf, messageOf } from '../../core/errors.ts'
import { type ReadingBudget, readInside, readingBudget } from '../../platform/source-files.ts'
import { withoutHidden } from '../../platform/visible-text.ts'
import { repositoryOf, slashed } from './instruction-files.ts'
import type { ProjectItem } from './project-items.ts'

/** Words for the model in a file of a project, or in the user's own. */
export interface Instructions {
  readonly id: string
  readonly path: string
  /** Its path from the root of the repository, with `/`: the same wherever the repository lies. */
  readonly name: string
  /** It is the user's own file, not one of the project. */
  readonly isOwn?: boolean
  readonly text: string
  /** How many characters were left out because no person can see them. */
  readonly stripped: number
  /** How many bytes were left out because there were too many; the text says so at its end. */
  readonly left?: number
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
  const repository = await repositoryOf(root)
  const file = await readInside(repository, path, instructionsBudget()).catch(() => undefined)
  const [accepted] = files.values()
  if (!file || file.digest !== accepted) return undefined
  return { id, path, name: slashed(relative(repository, path)), ...cleanInstructions(file.text) }
}

/** The user's own instructions. They may be a link to wherever the user keeps them; where there are none, nothing is wrong. */
export async function readOwnInstructions(path: string): Promise<{ own?: Instructions; problem?: string }> {
  try {
    const real = await realpath(path)
    const { text } = await readInside(dirname(real), real, instructionsBudget())
    return { own: { id: path, path, name: 'AGENTS.md', isOwn: true, ...cleanInstructions(text) } }
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT') return {}
    return { problem: code === undefined ? messageOf(error) : `it cannot be read (${code})` }
  }
}

const invisible =
  /(?<!\p{Extended_Pictographic}|[0-9#*])\ufe0f|(?<!\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d|\u200d(?!\p{Extended_Pictographic})|(?!\u200d|\ufe0f)\p{Default_Ignorable_Code_Point}|[\ufff9-\ufffb]/gu
