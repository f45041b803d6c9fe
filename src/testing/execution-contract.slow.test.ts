import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { catches, type Mutants } from '../../test/contract-mutants.ts'
import { sampleOf } from '../../test/soak.ts'
import type { ExecResult, ExecutionContext, ExecutionHandle } from '../core/execution.ts'
import { createProcessContext } from '../execution/process.ts'
import { createSandboxContext, type SandboxProvider } from '../execution/sandbox.ts'
import { type ContractCase, executionContract, memoryExecution } from './index.ts'

describe('the memory context', () => run(executionContract(memoryExecution)))
// What starts processes takes long: some cases each time.
describe('the process context', () => run(sampleOf(executionContract(processContext), 15), 'A226 '))
describe('a sandbox whose provider has every verb', () =>
  run(
    sampleOf(
      executionContract(() => sandbox({ hasFiles: true })),
      10,
    ),
    'A226 ',
  ))
describe('a sandbox whose provider has only a shell', () =>
  run(
    sampleOf(
      executionContract(() => sandbox({ hasFiles: false })),
      10,
    ),
    'A226 ',
  ))

describe('the execution contract catches', () => {
  const files: Mutants<ExecutionContext> = {
    'a context with one handle for all': [
      'every spawn gives a handle of its own',
      (good) => ({ ...good, spawn: async (config) => ({ ...(await good.spawn(config)), id: 'the-one' }) }),
    ],
    'a context that reads a missing file as empty': [
      'a missing file fails with the code ENOENT, and so does a missing folder',
      (good) => ({ ...good, readFile: (handle, path) => good.readFile(handle, path).catch(() => '') }),
    ],
    'a context that does not mark folders': [
      'a folder lists its names, sorted, with a slash after folders',
      (good) => ({
        ...good,
        listFiles: async (handle, path) =>
          (await good.listFiles(handle, path)).map((name) => (name.endsWith('/') ? name.slice(0, -1) : name)),
      }),
    ],
    'a context that ignores the cwd of a handle': [
      'paths are relative to the cwd of the handle, or absolute',
      (good) => ({ ...good, spawn: () => good.spawn() }),
    ],
    'a context that claims to have run what it cannot run': [
      'without a shell no command succeeds',
      (good) => ({ ...good, exec: async () => ({ stdout: '', stderr: '', exitCode: 0 }) }),
    ],
    'a context that cannot be destroyed twice': [
      'destroying a handle twice is harmless, and harms no other handle',
      (good) => {
        const gone = new Set<string>()
        const destroy: ExecutionContext['destroy'] = async ({ id }) => {
          if (gone.has(id)) throw new Error('no such handle')
          gone.add(id)
        }
        return { ...good, destroy }
      },
    ],
  }
  catches(files, (wrap) => executionContract(() => wrap(memoryExecution())))

  const shell: Mutants<ExecutionContext> = {
    'a context that swallows exit codes': [
      'a command gives stdout, stderr and exit code apart',
      (good) => ({ ...good, exec: async (...args) => ({ ...(await good.exec(...args)), exitCode: 0 }) }),
    ],
    'a context that ignores the environment': [
      'a command sees the environment it is given',
      (good) => ({
        ...good,
        exec: (handle, command, { env: _, ...options } = {}) => good.exec(handle, command, options),
      }),
    ],
  }
  catches(shell, (wrap) => executionContract(() => wrap(processContext())))

  const hanging: Mutants<ExecutionContext> = {
    'a context without time limits': [
      'a command that takes too long is ended, with all it started',
      (good) => ({
        ...good,
        exec: (handle, command, options) => good.exec(handle, command, { ...options, timeout: 0 }),
      }),
    ],
    'a context that ignores its signal': [
      'an aborted signal ends a command at once',
      (good) => ({
        ...good,
        exec: (handle, command, { signal: _, ...options } = {}) => good.exec(handle, command, options),
      }),
    ],
    'a context that destroys nothing': [
      'destroy ends what runs under the handle, and nothing else',
      (good) => ({ ...good, destroy: async () => {} }),
    ],
    'a context that waits for a pipe': [
      'a pipe is refused, not waited for',
      (good) => ({
        ...good,
        readFile: (handle, path) => (path === 'pipe' ? new Promise(() => {}) : good.readFile(handle, path)),
      }),
    ],
    'a context where a command waits for input that never comes': [
      'without input there is nothing to read, and nothing to wait for',
      (good) => ({
        ...good,
        exec: (handle, command, options) => good.exec(handle, `sleep 9 | { ${command}; }`, options),
      }),
    ],
    'a context that waits for what is left running': [
      'what a command leaves running does not delay its result',
      (good) => ({ ...good, exec: (handle, command, options) => good.exec(handle, `${command}\nwait`, options) }),
    ],
  }
  catches(
    someOf(hanging, 2),
    (wrap) => executionContract(() => wrap(processContext()), { timeoutMs: 1500 }),
    'for 1500 ms',
  )

  const optional: Mutants<ExecutionContext> = {
    'a context that keeps bytes as text': [
      'bytes are read back as they were written, whole or in part',
      (good) => ({
        ...good,
        writeFile: (handle, path, content, how) =>
          good.writeFile(handle, path, typeof content === 'string' ? content : new TextDecoder().decode(content), how),
      }),
    ],
    'a context that always reads from the start': [
      'bytes are read back as they were written, whole or in part',
      (good) => ({
        ...good,
        async openFile(handle, path) {
          const file = await good.openFile!(handle, path)
          return { ...file, close: () => file.close(), read: (_, length) => file.read(0, length) }
        },
      }),
    ],
    'a context that takes a folder for an empty file': [
      'a folder is neither read nor written as a file',
      (good) => ({ ...good, readFile: (handle, path) => good.readFile(handle, path).catch(() => '') }),
    ],
    'a context that stats a missing file': [
      'stat tells kind and size, and fails with ENOENT when there is nothing',
      (good) => ({ ...good, stat: (handle, path) => good.stat!(handle, path).catch(() => good.stat!(handle, '.')) }),
    ],
    'a context whose keys are the paths as given': [
      'a file has one key, whichever path leads to it',
      (good) => ({ ...good, stat: async (handle, path) => ({ ...(await good.stat!(handle, path)), key: path }) }),
    ],
    'a context with one key for all': [
      'a file has one key, whichever path leads to it',
      (good) => ({ ...good, stat: async (handle, path) => ({ ...(await good.stat!(handle, path)), key: 'file' }) }),
    ],
    'a context that stamps by size': [
      'the stamp of a file is another one when its content is',
      (good) => ({
        ...good,
        async stat(handle, path) {
          const info = await good.stat!(handle, path)
          return { ...info, stamp: String(info.size) }
        },
      }),
    ],
    'a context that stamps by the hour': [
      'the stamp tells of a change in place by a command',
      (good) => ({ ...good, stat: async (handle, path) => ({ ...(await good.stat!(handle, path)), stamp: 'now' }) }),
    ],
    'a context that ignores stamps': [
      'a write with a stale stamp is refused and leaves the file alone',
      (good) => ({ ...good, writeFile: (handle, path, content) => good.writeFile(handle, path, content) }),
    ],
    'a context that refuses after it has written': [
      'a write with a stale stamp is refused and leaves the file alone',
      (good) => ({
        ...good,
        async writeFile(handle, path, content, how) {
          const stale = how && (await good.writeFile(handle, path, content, how).catch((error) => error))
          await good.writeFile(handle, path, content)
          if (stale) throw stale
        },
      }),
    ],
    'a context that overwrites what should not be there': [
      'a write that wants no file there is refused when there is one',
      (good) => ({
        ...good,
        writeFile: (handle, path, content, how) =>
          good.writeFile(handle, path, content, how?.ifStamp === null ? {} : how),
      }),
    ],
    'a context that forgets the mode': [
      'overwriting keeps the mode of a file',
      (good) => ({
        ...good,
        async writeFile(handle, path, content, how) {
          await good.writeFile(handle, path, content, how)
          await good.exec(handle, `chmod 644 ${path}`)
        },
      }),
    ],
    'a context that runs anywhere': [
      'nothing runs in a folder that does not exist',
      (good) => ({
        ...good,
        exec: (handle, command, { cwd: _, ...others } = {}) => good.exec(handle, command, others),
      }),
    ],
    'a context that loses the input': [
      'a command reads the input it is given',
      (good) => ({
        ...good,
        exec: (handle, command, { input: _, ...others } = {}) => good.exec(handle, command, others),
      }),
    ],
    'a context that tells all at the end': [
      'a listener gets all output as it comes, in whole characters, and the result has none',
      (good) => ({
        ...good,
        async exec(handle, command, { onOutput, ...others } = {}) {
          const done = await good.exec(handle, command, others)
          for (const from of ['stdout', 'stderr'] as const) onOutput?.(done[from], from)
          return onOutput ? { ...done, stdout: '', stderr: '' } : done
        },
      }),
    ],
    'a context that tells a listener and keeps it too': [
      'a listener gets all output as it comes, in whole characters, and the result has none',
      (good) => ({
        ...good,
        async exec(handle, command, { onOutput, ...others } = {}) {
          let stdout = ''
          const hear = (text: string, from: 'stdout' | 'stderr') => {
            stdout += text
            onOutput?.(text, from)
          }
          return { ...(await good.exec(handle, command, { ...others, onOutput: hear })), stdout }
        },
      }),
    ],
    'a context that keeps the beginning of long output': [
      'the end of very long output is kept',
      withStdout((stdout) => stdout.slice(0, 1000)),
    ],
    'a context that drops what it cannot read': [
      'output that is no UTF-8 is still output',
      withStdout((stdout) => stdout.replace('\uFFFD', '')),
    ],
    'a context that forgets what was said before the time was up': [
      'output from before a timeout is kept',
      withStdout((stdout, { timedOut }) => (timedOut ? '' : stdout)),
    ],
    'a context that hides that the time was up': [
      'output from before a timeout is kept',
      (good) => ({
        ...good,
        async exec(...args) {
          const { timedOut: _, ...done } = await good.exec(...args)
          return done
        },
      }),
    ],
  }

  catches(someOf(optional, 7), (wrap) => executionContract(() => wrap(processContext())))

  test.skipIf(process.platform !== 'linux')(
    'a context whose daemons outlive it (skipped unless on Linux)',
    async () => {
      const escaping = (good: ExecutionContext): ExecutionContext => ({
        ...good,
        exec: (handle, command, options) =>
          good.exec(handle, command.replace('$s sh', 'env -i PATH="$PATH" setsid timeout 5 sh'), options),
      })
      const cases = executionContract(() => escaping(processContext()))
      const one = cases.find(({ name }) => name === 'destroy ends what has left the session of its command')
      await expect(one?.run()).rejects.toThrow('what the daemon wrote until then')
    },
  )
})

const someOf = <Made>(mutants: Mutants<Made>, count: number): Mutants<Made> =>
  Object.fromEntries(sampleOf(Object.entries(mutants), count))

function run(cases: readonly ContractCase[], rows = ''): void {
  for (const one of cases) test(`${rows}${one.name}`, one.run)
}

function withStdout(change: (stdout: string, done: ExecResult) => string) {
  return (good: ExecutionContext): ExecutionContext => ({
    ...good,
    async exec(...args) {
      const done = await good.exec(...args)
      return { ...done, stdout: change(done.stdout, done) }
    },
  })
}

const folders: string[] = []
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true, maxRetries: 10 }))))

function processContext(): ExecutionContext {
  return createProcessContext({ cwd: emptyFolder() })
}

/** A service that rents out processes of this machine. */
function sandbox({ hasFiles }: { hasFiles: boolean }): ExecutionContext {
  const machine = createProcessContext({ cwd: emptyFolder() })
  const rented = new Map<string, ExecutionHandle>()
  const of = (id: string): ExecutionHandle => rented.get(id)!
  const shell: SandboxProvider = {
    async spawn(config) {
      const handle = await machine.spawn(config)
      rented.set(handle.id, handle)
      return { id: handle.id, cwd: handle.cwd }
    },
    exec: (id, command, options) => machine.exec(of(id), command, options),
    destroy: (id) => machine.destroy(of(id)),
  }
  const files: Partial<SandboxProvider> = {
    input: true,
    readFile: (id, path) => machine.readFile(of(id), path),
    writeFile: (id, path, content) => machine.writeFile(of(id), path, content),
    listFiles: (id, path) => machine.listFiles(of(id), path),
  }
  return createSandboxContext(hasFiles ? { ...shell, ...files } : shell)
}

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'libero-contract-'))
  folders.push(folder)
  return folder
}
