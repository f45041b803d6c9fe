import type { FileMapAdapter } from '../src/sessions/file-map-store.ts'

/** Texts in a map. */
export function memoryAdapter() {
  const texts = new Map<string, string>()
  return {
    texts,
    get: (path: string) => texts.get(path) ?? null,
    save: async (path: string, text: string) => void texts.set(path, text),
    delete: async (path: string) => void texts.delete(path),
  }
}

/** An adapter that records its calls. */
export function spied() {
  const calls: [verb: string, path: string][] = []
  const { texts } = memoryAdapter()
  const adapter = {
    get(path: string): string | undefined {
      calls.push(['get', path])
      return texts.get(path)
    },
    save(path: string, text: string): void {
      calls.push(['save', path])
      texts.set(path, text)
    },
    delete(path: string): void {
      calls.push(['delete', path])
      texts.delete(path)
    },
  }
  return { adapter, calls }
}

/** An adapter of a process that is killed after so many changes: nothing arrives any more. */
export function dying(verbs: Omit<FileMapAdapter, 'list'>): { adapter: FileMapAdapter; dies: (after: number) => void } {
  let left = Number.POSITIVE_INFINITY
  const change = async (work: () => unknown): Promise<void> => {
    if (left-- <= 0) throw new Error('gone')
    await work()
  }
  return {
    adapter: {
      get: (path) => verbs.get(path),
      save: (path, text) => change(() => verbs.save(path, text)),
      delete: (path) => change(() => verbs.delete(path)),
    },
    dies: (after) => {
      left = after
    },
  }
}

/** An adapter of which one call can be held up: the next one of that verb and path, before it does anything. */
export function gated(verbs: Omit<FileMapAdapter, 'list'>) {
  let held: { readonly call: string; reach: () => void; readonly open: Promise<void> } | undefined
  const pass = async (call: string): Promise<void> => {
    if (held?.call !== call) return
    const { reach, open } = held
    held = undefined
    reach()
    await open
  }
  const adapter: FileMapAdapter = {
    get: async (path) => {
      await pass(`get ${path}`)
      return verbs.get(path)
    },
    save: async (path, text) => {
      await pass(`save ${path}`)
      await verbs.save(path, text)
    },
    delete: async (path) => {
      await pass(`delete ${path}`)
      await verbs.delete(path)
    },
  }
  const hold = (verb: 'get' | 'save' | 'delete', path: string): { reached: Promise<void>; release: () => void } => {
    const [reached, open] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    held = { call: `${verb} ${path}`, reach: reached.resolve, open: open.promise }
    return { reached: reached.promise, release: open.resolve }
  }
  return { adapter, hold }
}
