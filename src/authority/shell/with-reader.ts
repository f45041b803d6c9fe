import type { ShellReading } from './reading.ts'
import { createShellReader } from './shell-reader.ts'

export type ReadLine = (line: string) => ShellReading | Promise<ShellReading>

/** Calls `use` with the given reader, or with a new one whose thread ends afterwards. */
export async function withReader<T>(given: ReadLine | undefined, use: (read: ReadLine) => Promise<T>): Promise<T> {
  if (given) return use(given)
  const reader = createShellReader()
  try {
    return await use(reader.read)
  } finally {
    await reader.close()
  }
}
