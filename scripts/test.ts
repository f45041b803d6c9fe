/**
 * Vitest with temporary files in memory, where the system lets us mount that. `--with-checks`, as in `npm test`: types and lint
 * are checked at the same time, because tests leave a processor idle while they wait.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface TestRun {
  /** How it ended, as words that follow a name. */
  readonly ending: string
  readonly code: number
  /** The end of what it printed, unless it printed to the terminal. */
  readonly output: string
}

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Runs vitest. Tests create and delete about a hundred thousand files, and ext4 passes over each inode that was deleted in
 * the last minute: with temporary files on a disk, part of the processor time goes there (19 % in a profile of 53 files). The mount is in a namespace of
 * vitest's own and ends with it.
 */
export async function runVitest(args: readonly string[], stdio: 'inherit' | 'pipe'): Promise<TestRun> {
  // Through our own node, because the script's shebang may find an older one on the PATH.
  const command = [process.execPath, join(root, 'node_modules/.bin/vitest'), 'run', ...args]
  const folder = mkdtempSync(join(tmpdir(), 't-'))
  const inMemory = ['--mount', 'sh', '-c', `mount -t tmpfs -o mode=1777 tmpfs '${folder}' && exec "$@"`, 'sh']
  const mayMount = spawnSync('unshare', [...inMemory, 'true']).status === 0
  try {
    if (mayMount) return await run('unshare', [...inMemory, ...command], stdio, { ...process.env, TMPDIR: folder })
    return await run(command[0]!, command.slice(1), stdio, process.env)
  } finally {
    rmdirSync(folder)
  }
}

function run(
  program: string,
  args: readonly string[],
  stdio: 'inherit' | 'pipe',
  env: NodeJS.ProcessEnv,
): Promise<TestRun> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, env, stdio: stdio === 'pipe' ? ['ignore', 'pipe', 'pipe'] : stdio })
    // Ctrl-C reaches vitest too: the folder is removed when it has ended.
    process.on('SIGINT', () => {})
    process.once('SIGTERM', () => child.kill('SIGTERM'))
    let output = ''
    const keepTail = (chunk: string) => {
      output = (output + chunk).slice(-4000)
    }
    child.stdout?.setEncoding('utf8').on('data', keepTail)
    child.stderr?.setEncoding('utf8').on('data', keepTail)
    child.on('error', (error) => resolve({ ending: 'could not be started', code: 1, output: error.message }))
    child.on('close', (code, signal) =>
      resolve({ ending: signal ? `died of ${signal}` : `exited with ${code}`, code: code ?? 1, output }),
    )
  })
}

/** `npm run` of a script. What it printed is shown only if it failed. */
async function check(script: string): Promise<number> {
  const { code, output } = await run('npm', ['run', '--silent', script], 'pipe', process.env)
  if (code !== 0) console.error(`npm run ${script} failed:\n${output}`)
  return code
}

if (import.meta.main) {
  const args = process.argv.slice(2)
  const checks = args[0] === '--with-checks' ? ['check', 'lint'] : []
  const tests = runVitest(args.slice(checks.length > 0 ? 1 : 0), 'inherit')
  const failed: string[] = []
  for (const script of checks) if ((await check(script)) !== 0) failed.push(script)
  const { code } = await tests
  for (const script of failed) console.error(`npm run ${script} failed, as told above`)
  process.exitCode = code || failed.length
}
