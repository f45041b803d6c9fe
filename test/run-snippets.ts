/**
 * A program for tests: runs the files it is given one after the other in this process, and prints what each of them
 * printed as one line of JSON. A process for each of a hundred snippets would spend most of its time starting.
 */
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'

export interface SnippetRun {
  readonly stdout: string
  /** What was written to stderr, or why the snippet failed. */
  readonly stderr: string
}

const writeResult = process.stdout.write.bind(process.stdout)
for (const file of process.argv.slice(2)) {
  const run = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    process[name].write = (chunk: string | Uint8Array) => {
      run[name] += chunk
      return true
    }
  await import(pathToFileURL(file).href).catch((error: unknown) => {
    run.stderr += inspect(error)
  })
  writeResult(`${JSON.stringify(run satisfies SnippetRun)}\n`)
}
