import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { createSqliteStore } from '../../src/sessions/sqlite-store.ts'
import { mayChangeMachine } from '../processes.ts'
import { temporary } from '../temporary.ts'

if (!mayChangeMachine) console.warn('skipped: files are made immutable only on Linux as root with CI set')

test.skipIf(!mayChangeMachine)(
  'R08 a database that is made immutable in mid-run is an error, and does not end the process',
  async (context) => {
    const folder = await temporary('frozen-')
    if (spawnSync('chattr', ['+i', folder]).status !== 0) context.skip('this file system knows no immutable files')
    const thaw = (): void => void execFileSync('chattr', ['-R', '-i', folder])
    onTestFinished(thaw)
    thaw()
    const child = fileURLToPath(new URL('store-sqlite-frozen-child.ts', import.meta.url))
    const args = ['--conditions=libero-source', child, folder]
    const { status, signal, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    expect([status, signal]).toEqual([0, null])
    const refused = expect.stringMatching(/^read_only: .*s\.db cannot be written: .*chattr -i/)
    expect(JSON.parse(stdout)).toEqual([refused, refused, 'done'])
    thaw()
    const store = createSqliteStore({ path: `${folder}/s.db` })
    expect(await store.read('s')).toHaveLength(1)
    await store.close()
  },
)

test('R08 a database that cannot be opened for want of file descriptors says so', async () => {
  const folder = await temporary('many-files-')
  const script = `ulimit -n 24; exec "$0" "$@"`
  const program = `
    import { openSync } from 'node:fs'
    const { createSqliteStore } = await import(${JSON.stringify(new URL('../../src/sessions/sqlite-store.ts', import.meta.url).href)})
    const store = createSqliteStore({ path: process.argv[1] + '/s.db' })
    await store.list().then(() => store.close())
    const again = createSqliteStore({ path: process.argv[1] + '/s.db' })
    try { for (;;) openSync('/dev/null') } catch {}
    await again.list().catch((error) => process.stdout.write(error.code + ': ' + error.message))
    process.exit()`
  const args = [
    '-c',
    script,
    process.execPath,
    '--conditions=libero-source',
    '--input-type=module',
    '-e',
    program,
    folder,
  ]
  const { stdout, stderr } = spawnSync('/bin/sh', args, { encoding: 'utf8' })
  expect(stdout, stderr).toMatch(/^unavailable: .*s\.db cannot be opened: too many files are open; .*ulimit -n/)
})
