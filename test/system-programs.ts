import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** Debian's packages whose programs tests use, if they are installed. */
const packages = { bwrap: 'bubblewrap', chromium: 'chromium', pgbouncer: 'pgbouncer' } as const

/**
 * Installs what is missing, once and before the first test file: workers that install at the same time wait for the same
 * lock and give up. Only as root and in CI; elsewhere the tests skip and say how to install it.
 */
export default function installPrograms(): void {
  const missing = Object.entries(packages).flatMap(([program, name]) => (findProgram(program) ? [] : [name]))
  if (missing.length === 0 || process.getuid?.() !== 0 || !process.env.CI) return
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  try {
    execFileSync('sh', ['-c', `apt-get update && ${installCommand(...missing)}`], {
      env,
      stdio: 'ignore',
      timeout: 240_000,
    })
  } catch {
    console.warn(
      `Not installed: ${missing.join(', ')}. \`${installCommand(...missing)}\` failed; their tests are skipped.`,
    )
  }
}

export const installCommand = (...names: string[]): string =>
  `apt-get install -y --no-install-recommends ${names.join(' ')}`

/** The path of a program in the folders of the system; tests run with various `PATH`s. */
export function findProgram(program: string): string | undefined {
  return ['/usr/bin', '/bin', '/usr/local/bin', '/usr/sbin'].map((folder) => `${folder}/${program}`).find(existsSync)
}
