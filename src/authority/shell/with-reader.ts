import type { ShellReading } from './reading.ts'
import { createShellReader } from './shell-reader.ts'

export type ReadLine = (line: string) => ShellReading | Promise<ShellReading>

/** Calls `use` with a new reader, whose thread ends afterwards. */
export async function withReader<T>(use: (read: ReadLine) => Promise<T>): Promise<T> {
  const reader = createShellReader()
  try {
    return await use(reader.read)
  } finally {
    await reader.close()
  }
}
