import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { compareTexts } from '../../core/text.ts'
import { readSmallText } from '../../platform/read-small-text.ts'
import { readInside, readingBudget } from '../../platform/source-files.ts'
import type { ProjectEntry } from './project-entry.ts'
import type { ItemKind } from './project-names.ts'

/** A Markdown file of the user or of a project. */
export interface MarkdownFile {
  readonly path: string
  /** From its folder, with `/`: `git/commit.md`. */
  readonly name: string
  /** Its project, and whether a person accepted these bytes. */
  readonly project?: { readonly root: string; readonly isAccepted: (digest: string) => boolean }
}

const mostDepth = 3
const mostFiles = 500
const mostBytes = 64 * 1024

/** The Markdown files in a folder, sorted by name; none if there is no such folder. */
export async function markdownIn(root: string): Promise<MarkdownFile[]> {
  const found: MarkdownFile[] = []
  const visit = async (folder: string, prefix: string, depth: number): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
    for (const entry of entries.sort((a, b) => compareTexts(a.name, b.name))) {
      if (entry.name.startsWith('.') || found.length >= mostFiles) continue
      const path = join(folder, entry.name)
      if (entry.isDirectory() && depth < mostDepth) await visit(path, `${prefix}${entry.name}/`, depth + 1)
      else if (/\.md$/i.test(entry.name)) found.push({ path, name: prefix + entry.name })
    }
  }
  await visit(root, '', 1)
  return found
}

/** Those of a trusted project that a person accepted, in one of its folders such as `.libero/commands`. */
export async function markdownOfProject(
  { root, items, isTrusted, isAccepted }: ProjectEntry,
  folder: string,
  kind: ItemKind,
): Promise<MarkdownFile[]> {
  if (!isTrusted()) return []
  const known = new Set(items.filter((item) => item.kind === kind).flatMap(({ files }) => [...files.keys()]))
  const found = (await markdownIn(join(root, folder))).filter(({ path }) => known.has(path))
  return found.map((file) => ({
    ...file,
    project: { root, isAccepted: (digest: string) => isTrusted() && isAccepted({ path: file.path, digest }) },
  }))
}

/** The text of a file. One of a project must lie in it, and is read only as it was accepted. Throws an error that says why not. */
export async function readMarkdown({ path, project }: MarkdownFile): Promise<string> {
  const refuse = (code: string): Error =>
    new Error(code === 'EFBIG' ? `it has more than ${mostBytes / 1024} KiB` : `it cannot be read as text (${code})`)
  if (!project) return (await readSmallText(path, { mostBytes, links: 'followed', refuse })) ?? ''
  const { text, digest } = await readInside(project.root, path, readingBudget())
  if (!project.isAccepted(digest)) throw new Error('it has changed since it was accepted; libero trust shows it')
  if (text.length > mostBytes) throw refuse('EFBIG')
  return text
}
