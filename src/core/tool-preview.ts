import { isRecord } from './is-record.ts'
import type { ToolContext } from './tool.ts'

/** The part of a `ToolContext` that a preview gets: it looks at files, and changes nothing. */
export type PreviewContext = Pick<ToolContext, 'execution' | 'handle' | 'signal'>

/** What a call would change, for the person who is asked about it. */
export interface ToolPreview {
  readonly files: readonly FilePreview[]
}

/** What a call would make of one file. */
export interface FilePreview {
  readonly path: string
  /** `create`: there is no such file yet; `replace`: all that the file holds is replaced; `edit`: parts of it are. */
  readonly change: 'create' | 'replace' | 'edit'
  /** How many lines the whole change adds and removes. These and `diff` are absent between files that are not text, or huge. */
  readonly added?: number
  readonly removed?: number
  /** A unified diff. */
  readonly diff?: string
  /** Lines at the end of the diff that are left out of it. */
  readonly moreLines?: number
}

/** The preview in a question that may come from anywhere; `undefined` where there is none. */
export function readPreview(preview: unknown): ToolPreview | undefined {
  if (!isRecord(preview) || !Array.isArray(preview.files)) return undefined
  return { files: preview.files.filter(isRecord).map(readFile) }
}

function readFile({ path, change, added, removed, diff, moreLines }: Readonly<Record<string, unknown>>): FilePreview {
  return {
    path: String(path),
    change: change === 'create' || change === 'replace' ? change : 'edit',
    ...(typeof added === 'number' && { added }),
    ...(typeof removed === 'number' && { removed }),
    ...(typeof diff === 'string' && { diff }),
    ...(typeof moreLines === 'number' && { moreLines }),
  }
}
