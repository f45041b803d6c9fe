export type FileAccess = 'read' | 'edit' | 'write' | 'search'

/** A file that a call is about, by the path it was given. */
export interface FileTouch {
  readonly path: string
  readonly access: FileAccess
}

/** What became of it: a tool that read or changed a file puts this into its `details` as `file`, and so into the log. */
export interface TouchedFile extends FileTouch {
  /** `FileInfo.key`. */
  readonly key: string
  /** Of the whole file, after the call. */
  readonly digest: string
  /** Which part was read, in a form that is equal for equal parts. */
  readonly slice?: string
}

/** The touched file in a tool's details, which may come from anywhere. */
export function touchedFileOf(details: unknown): TouchedFile | undefined {
  const file = typeof details === 'object' && details !== null && 'file' in details ? details.file : undefined
  if (typeof file !== 'object' || file === null) return undefined
  const { key, digest, access } = file as Partial<TouchedFile>
  return typeof key === 'string' && typeof digest === 'string' && typeof access === 'string'
    ? (file as TouchedFile)
    : undefined
}
