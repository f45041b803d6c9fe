import { messageOf, StoreError } from '../../core/errors.ts'

/** Anything that keeps texts by name. Each verb may answer at once or later. */
export interface FileMapAdapter {
  get(path: string): Promise<string | undefined | null> | string | undefined | null
  save(path: string, text: string): Promise<void> | void
  delete(path: string): Promise<void> | void
  /** The names that begin with `prefix`. Without it the store keeps a list of its own. */
  list?(prefix: string): Promise<readonly string[]> | readonly string[]
}

/** The adapter, with failures that say which file they are about. */
export interface AdapterFiles {
  get(path: string): Promise<string | undefined>
  save(path: string, text: string): Promise<void>
  delete(path: string): Promise<void>
  readonly list?: (prefix: string) => Promise<readonly string[]>
}

export function adapterFiles(adapter: FileMapAdapter): AdapterFiles {
  return {
    get: (path) => named('get', path, async () => (await adapter.get(path)) ?? undefined),
    save: (path, text) => named('save', path, async () => adapter.save(path, text)),
    delete: (path) => named('delete', path, async () => adapter.delete(path)),
    ...(adapter.list && {
      list: (prefix: string) => named('list', prefix, async () => (await adapter.list?.(prefix)) ?? []),
    }),
  }
}

async function named<T>(verb: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw new StoreError(
      'unavailable',
      `The adapter failed to ${verb} "${path}": ${messageOf(cause)}; what was stored before is unchanged, try again`,
      { cause },
    )
  }
}
