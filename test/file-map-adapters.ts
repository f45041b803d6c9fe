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
