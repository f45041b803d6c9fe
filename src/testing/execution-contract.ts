import type { ExecOptions, ExecResult, ExecutionContext, ExecutionHandle } from '../core/execution.ts'
import { type ContractCase, check, checkEqual, within } from './contract.ts'

/**
 * What makes an execution context one. `make` gives a context for each case anew, and one more to read its capabilities;
 * the folder it works in is empty. Commands are those of a POSIX shell.
 */
export function executionContract(make: () => ExecutionContext): ContractCase[] {
  const { shell, filesystem } = make().capabilities
  return [
    ...casesOf(make, always, undefined),
    ...casesOf(make, withFiles, filesystem ? undefined : 'no file system'),
    ...casesOf(make, withShell, shell && filesystem ? undefined : 'no shell'),
    ...(shell ? [] : casesOf(make, withoutShell, undefined)),
  ]
}

type Prove = (context: ExecutionContext) => Promise<void>

/** A case that does not apply stays in the list and says why it does nothing. */
function casesOf(make: () => ExecutionContext, proofs: Record<string, Prove>, lacks: string | undefined) {
  return Object.entries(proofs).map(
    ([name, prove]): ContractCase => ({
      name: lacks === undefined ? name : `${name} (left out: this context has ${lacks})`,
      run: async () => (lacks === undefined ? prove(make()) : undefined),
    }),
  )
}

const always: Record<string, Prove> = {
  async 'every spawn gives a handle of its own'(context) {
    const handles = await Promise.all([context.spawn(), context.spawn(), context.spawn()])
    checkEqual(new Set(handles.map(({ id }) => id)).size, 3, 'the number of different ids')
    for (const { type, cwd } of handles) {
      checkEqual(type, context.type, 'the type of a handle')
      check(cwd !== '', 'a handle needs a cwd')
    }
  },

  async 'says of each capability whether it has it'({ capabilities }) {
    const { shell, filesystem, network, gpu } = capabilities
    const types = [typeof shell, typeof filesystem, typeof network, typeof gpu]
    checkEqual(types, ['boolean', 'boolean', 'boolean', 'boolean'], 'the types of the capabilities')
  },

  async 'destroying a handle twice is harmless, and harms no other handle'(context) {
    const [one, other] = [await context.spawn(), await context.spawn()]
    await context.destroy(one)
    await context.destroy(one)
    if (!context.capabilities.filesystem) return
    await context.writeFile(other, 'f.txt', 'still here')
    checkEqual(await context.readFile(other, 'f.txt'), 'still here', 'a file of the other handle')
  },
}

const withFiles: Record<string, Prove> = {
  async 'a file is read as it was written'(context) {
    const handle = await context.spawn()
    for (const content of ['plain\n', '', 'ä 漢字 👩‍🚀 \u0000 \r\n "quotes" $HOME `x`\\', 'no newline at the end']) {
      await context.writeFile(handle, 'f.txt', content)
      checkEqual(await context.readFile(handle, 'f.txt'), content, 'the content')
    }
  },

  async 'a big file is read as it was written'(context) {
    const handle = await context.spawn()
    const content = 'größer 🎈\n'.repeat(200_000)
    await context.writeFile(handle, 'big.txt', content)
    check((await context.readFile(handle, 'big.txt')) === content, 'a file of 3 MB came back changed')
  },

  async 'file names may hold spaces, quotes and Unicode'(context) {
    const handle = await context.spawn()
    const names = ['a b.txt', `it's "q".txt`, 'ünï 漢.txt', '-n', '$HOME']
    for (const name of names) await context.writeFile(handle, name, name)
    for (const name of names) checkEqual(await context.readFile(handle, name), name, `the file ${name}`)
    checkEqual(await context.listFiles(handle, '.'), [...names].sort(), 'the list')
  },

  async 'missing folders are created'(context) {
    const handle = await context.spawn()
    await context.writeFile(handle, 'a/b/c.txt', 'deep')
    checkEqual(await context.readFile(handle, './a/b/../b/c.txt'), 'deep', 'the content')
  },

  async 'a missing file fails with the code ENOENT, and so does a missing folder'(context) {
    const handle = await context.spawn()
    checkEqual(await codeOf(context.readFile(handle, 'none.txt')), 'ENOENT', 'the code of a missing file')
    checkEqual(await codeOf(context.listFiles(handle, 'none')), 'ENOENT', 'the code of a missing folder')
  },

  async 'a folder lists its names, sorted, with a slash after folders'(context) {
    const handle = await context.spawn()
    for (const path of ['b.txt', 'c/inner.txt', 'a.txt', '.hidden', 'B/x.txt'])
      await context.writeFile(handle, path, '')
    checkEqual(await context.listFiles(handle, '.'), ['.hidden', 'B/', 'a.txt', 'b.txt', 'c/'], 'the list')
    checkEqual(await context.listFiles(handle, 'c'), ['inner.txt'], 'the list of a folder')
  },

  async 'an empty working folder lists nothing'(context) {
    checkEqual(await context.listFiles(await context.spawn(), '.'), [], 'the list')
  },

  async 'paths are relative to the cwd of the handle, or absolute'(context) {
    const outer = await context.spawn()
    await context.writeFile(outer, 'sub/f.txt', 'in sub')
    const inner = await context.spawn({ cwd: `${outer.cwd}/sub` })
    checkEqual(inner.cwd, `${outer.cwd}/sub`, 'the cwd')
    checkEqual(await context.readFile(inner, 'f.txt'), 'in sub', 'a relative path')
    checkEqual(await context.readFile(inner, `${outer.cwd}/sub/f.txt`), 'in sub', 'an absolute path')
    checkEqual(await context.listFiles(inner, '.'), ['f.txt'], 'the list')
  },
}

const withShell: Record<string, Prove> = {
  async 'a command gives stdout, stderr and exit code apart'(context) {
    const done = await run(context, `printf 'out ä\\n'; printf 'err' >&2; exit 3`)
    checkEqual(done, { stdout: 'out ä\n', stderr: 'err', exitCode: 3 }, 'the result')
    checkEqual(await run(context, 'true'), { stdout: '', stderr: '', exitCode: 0 }, 'a silent success')
  },

  async 'an unknown command is a result with an exit code, not an error'(context) {
    const { exitCode } = await run(context, 'there-is-no-such-command-here')
    checkEqual(exitCode, 127, 'the exit code')
  },

  async 'a command runs in the cwd of its handle, or in the one it is given'(context) {
    const handle = await context.spawn()
    await context.writeFile(handle, 'f.txt', 'outer')
    await context.writeFile(handle, 'sub/f.txt', 'inner')
    checkEqual((await run(context, 'cat f.txt', handle)).stdout, 'outer', 'in the cwd of the handle')
    const absolute = await run(context, 'cat f.txt', handle, { cwd: `${handle.cwd}/sub` })
    checkEqual(absolute.stdout, 'inner', 'in another cwd')
  },

  async 'a relative cwd is taken from that of the handle'(context) {
    const handle = await context.spawn()
    await context.writeFile(handle, 'sub/f.txt', 'inner')
    checkEqual((await run(context, 'cat f.txt', handle, { cwd: 'sub' })).stdout, 'inner', 'in a relative cwd')
  },

  async 'a command sees the environment it is given'(context) {
    const env = { CONTRACT_VALUE: `it's $HOME "ä"` }
    const { stdout } = await run(context, `printf '%s' "$CONTRACT_VALUE"`, undefined, { env })
    checkEqual(stdout, env.CONTRACT_VALUE, 'the variable')
    checkEqual((await run(context, `printf '%s' "$CONTRACT_VALUE"`)).stdout, '', 'without it')
  },

  async 'every command sees the environment that its handle was given'(context) {
    const handle = await context.spawn({ env: { CONTRACT_A: 'a', CONTRACT_B: 'b' } })
    const options = { env: { CONTRACT_B: 'own' } }
    const { stdout } = await run(context, `printf '%s' "$CONTRACT_A $CONTRACT_B"`, handle, options)
    checkEqual(stdout, 'a own', 'the variables of the handle and of the command')
  },

  async 'files and commands see the same world'(context) {
    const handle = await context.spawn()
    await run(context, 'mkdir d && printf made > d/f.txt', handle)
    checkEqual(await context.readFile(handle, 'd/f.txt'), 'made', 'a file that a command wrote')
    checkEqual(await context.listFiles(handle, '.'), ['d/'], 'the list')
  },

  async 'commands of one handle may run at once'(context) {
    const handle = await context.spawn()
    const wait = 'n=0; while [ ! -e other ] && [ $n -lt 50 ]; do sleep 0.05; n=$((n+1)); done; cat other'
    const [waiting] = await Promise.all([run(context, wait, handle), run(context, 'printf met > other', handle)])
    checkEqual(waiting.stdout, 'met', 'what the waiting command saw')
  },

  async 'a command that takes too long is ended, with all it started'(context) {
    const handle = await context.spawn()
    const { exitCode } = await run(context, '(sleep 1; touch late) & sleep 10', handle, { timeout: 200 })
    checkEqual(exitCode, null, 'the exit code')
    await run(context, 'sleep 1.2', handle)
    checkEqual(await context.listFiles(handle, '.'), [], 'what its child did afterwards')
  },

  async 'a time limit of 0, or of a month, is none'(context) {
    for (const timeout of [0, 30 * 24 * 3_600_000]) {
      const { exitCode } = await run(context, 'sleep 0.05', undefined, { timeout })
      checkEqual(exitCode, 0, `the exit code under a limit of ${timeout} ms`)
    }
  },

  async 'an aborted signal ends a command at once'(context) {
    const handle = await context.spawn()
    const abort = new AbortController()
    const work = context.exec(handle, 'touch begun; sleep 10', { signal: abort.signal })
    await begun(context, handle)
    abort.abort()
    checkEqual(await exitCodeOf(work), null, 'the exit code')
  },

  async 'a signal that was aborted before starts nothing'(context) {
    const handle = await context.spawn()
    const work = context.exec(handle, 'touch begun; sleep 10', { signal: AbortSignal.abort() })
    checkEqual(await exitCodeOf(work), null, 'the exit code')
    checkEqual(await context.listFiles(handle, '.'), [], 'what the command did')
  },

  async 'destroy ends what runs under the handle, and nothing else'(context) {
    const [doomed, other] = [await context.spawn(), await context.spawn()]
    const work = context.exec(doomed, 'touch begun; sleep 10')
    const unharmed = run(context, 'sleep 0.1; echo done', other)
    await begun(context, doomed)
    await context.destroy(doomed)
    checkEqual(await exitCodeOf(work), null, 'the exit code')
    checkEqual((await unharmed).stdout, 'done\n', 'a command of another handle')
  },

  async 'destroy ends a command that was started a moment ago'(context) {
    const handle = await context.spawn()
    const cleanUp = new AbortController()
    const work = context.exec(handle, 'sleep 10', { signal: cleanUp.signal })
    try {
      await context.destroy(handle)
      checkEqual(await exitCodeOf(work), null, 'the exit code')
    } finally {
      cleanUp.abort()
    }
  },
}

const withoutShell: Record<string, Prove> = {
  async 'without a shell no command succeeds'(context) {
    const outcome = await exitCodeOf(context.exec(await context.spawn(), 'true'))
    check(outcome !== 0, 'a context without a shell must not claim that a command succeeded')
  },
}

const patience = 3000

async function run(
  context: ExecutionContext,
  command: string,
  handle?: ExecutionHandle,
  options?: ExecOptions,
): Promise<ExecResult> {
  return within(
    patience,
    context.exec(handle ?? (await context.spawn()), command, options),
    `the command \`${command}\``,
  )
}

/** A command that was stopped may reject or say that it did not end by itself: null here. */
function exitCodeOf(work: Promise<ExecResult>): Promise<number | null> {
  const exitCode = work.then(
    (done) => done.exitCode,
    () => null,
  )
  return within(patience, exitCode, 'a command that was to be ended')
}

/** Waits for the file by which a command says that it runs. */
async function begun(context: ExecutionContext, handle: ExecutionHandle): Promise<void> {
  const isThere = async () => (await context.listFiles(handle, '.')).includes('begun')
  const wait = async () => {
    while (!(await isThere())) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await within(patience, wait(), 'the start of the command')
}

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  const [outcome] = await Promise.allSettled([work])
  check(outcome.status === 'rejected', 'it must fail and did not fail')
  return outcome.reason?.code
}
