import { check, checkEqual } from './contract.ts'
import { exitCodeOf, type Proofs, run } from './execution-contract-kit.ts'

export const commandProofs: Proofs = {
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

  async 'where there is no such folder nothing is run'(context) {
    const handle = await context.spawn()
    const exitCode = await exitCodeOf(context.exec(handle, 'touch ../ran; touch ran', { cwd: 'none' }))
    check(exitCode !== 0, 'it must fail')
    checkEqual(await context.listFiles(handle, '.'), [], 'what the command did')
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
    const wait = 'n=0; while [ ! -s other ] && [ $n -lt 50 ]; do sleep 0.05; n=$((n+1)); done; cat other'
    const [waiting] = await Promise.all([run(context, wait, handle), run(context, 'printf met > other', handle)])
    checkEqual(waiting.stdout, 'met', 'what the waiting command saw')
  },

  async 'a command reads the input it is given'(context) {
    const text = await run(context, 'cat', undefined, { input: 'ä "q" $HOME\nno end' })
    checkEqual(text.stdout, 'ä "q" $HOME\nno end', 'the text')
    const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => i >> 1)
    const counted = await run(context, 'wc -c', undefined, { input: bytes })
    checkEqual(counted.stdout.trim(), '300000', 'the number of bytes')
  },

  async 'a command need not read its input'(context) {
    const { exitCode } = await run(context, 'exit 4', undefined, { input: 'x'.repeat(1_000_000) })
    checkEqual(exitCode, 4, 'the exit code')
  },

  async 'without input there is nothing to read, and nothing to wait for'(context) {
    checkEqual((await run(context, 'cat; echo ended')).stdout, 'ended\n', 'the output')
  },
}

export const outputProofs: Proofs = {
  async 'a listener hears all output as it comes, in whole characters, and the result has none'(context) {
    const heard: Record<'stdout' | 'stderr', string[]> = { stdout: [], stderr: [] }
    const onOutput = (text: string, from: 'stdout' | 'stderr') => void heard[from].push(text)
    const command = `printf 'one '; printf err >&2; sleep 0.3; printf 'tw\\303'; sleep 0.3; printf '\\266\\n'; exit 5`
    const { stdout, stderr, exitCode } = await run(context, command, undefined, { onOutput })
    checkEqual({ stdout, stderr, exitCode }, { stdout: '', stderr: '', exitCode: 5 }, 'the result')
    checkEqual([heard.stdout.join(''), heard.stderr.join('')], ['one twö\n', 'err'], 'what was heard')
    check(heard.stdout.length > 1, 'the output must come in pieces, not at the end')
  },

  async 'of very long output the end is kept'(context) {
    const { stdout, exitCode } = await run(context, `head -c 12000000 /dev/zero | tr '\\0' x; echo the end`)
    checkEqual(exitCode, 0, 'the exit code')
    check(stdout.endsWith('xxxthe end\n'), 'the end must be there')
    check(stdout.length <= 10 * 1024 * 1024, `at most 10 MiB are kept, not ${stdout.length}`)
  },

  async 'output that is no UTF-8 is still output'(context) {
    const { stdout } = await run(context, `printf 'a\\377b\\000c'`)
    checkEqual(stdout, 'a\uFFFDb\u0000c', 'the output')
  },

  async 'what a command leaves running does not delay its result'(context) {
    const { stdout, exitCode, leftRunning } = await run(context, 'sleep 60 & echo done', undefined, { timeout: 30_000 })
    checkEqual([stdout, exitCode], ['done\n', 0], 'the result')
    if (leftRunning) checkEqual(leftRunning, ['sleep 60'], 'what was left running')
  },
}
