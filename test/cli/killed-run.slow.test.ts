import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { openSession } from '../../src/cli/sessions/open-session.ts'
import { openStore } from '../../src/cli/sessions/open-store.ts'
import { compileCache } from '../compile-cache.ts'

const child = fileURLToPath(new URL('./killed-run-child.ts', import.meta.url))

/** A home and a project, and a `libero` that is killed at a failpoint. */
function openDesk() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'libero-killed-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [home, cwd] = [join(folder, 'home'), join(folder, 'project')]
  mkdirSync(home, { mode: 0o700 })
  mkdirSync(cwd)
  return {
    home,
    libero(place: string, ...args: string[]) {
      const env = {
        PATH: process.env.PATH ?? '',
        HOME: folder,
        LIBERO_HOME: home,
        NODE_NO_WARNINGS: '1',
        ...compileCache,
      }
      const options = { cwd, env, encoding: 'utf8', input: '' } as const
      const argv = ['--conditions=libero-source', child, place, '--provider', 'offline', ...args]
      return spawnSync(process.execPath, argv, options)
    },
    /** The session that `--continue` opens. */
    async continued() {
      const store = await openStore(join(home, 'sessions.db'))
      try {
        return (await openSession(store, { cwd, continue: true })).session.turns.map(({ role }) => role)
      } finally {
        await store.close?.()
      }
    },
  }
}

test('R03 a run that is killed right after its prompt is stored is found by --continue', async () => {
  const desk = openDesk()
  expect(desk.libero('commit.after:run_started', 'hello').signal).toBe('SIGKILL')
  expect(await desk.continued()).toEqual(['user'])
})

test('R03 with a home that everyone may write, the suggested --continue finds the session', async () => {
  const desk = openDesk()
  chmodSync(desk.home, 0o1777)
  const { status, stderr } = desk.libero('never', 'hello')
  expect(status).toBe(1)
  expect(stderr).toContain('continue with: libero --continue')
  expect(stderr).toContain(`chmod 700 ${desk.home}`)
  chmodSync(desk.home, 0o700)
  expect(await desk.continued()).toEqual(['user'])
})
