import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { place, skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { readOnly, workspaceWrite, write } from '../../../test/confinement-kit.ts'
import { startFakeDocker } from '../../../test/oracles/fake-docker.ts'
import { temporary } from '../../../test/temporary.ts'
import type { ExecutionContext } from '../../core/execution.ts'
import { createDockerContext } from '../docker.ts'
import { createProcessContext } from '../process.ts'
import { createSandboxContext } from '../sandbox.ts'

describe.skipIf(unavailable)(`a confinement in the bubblewrap context${skipped}`, () => {
  test('it shows and opens less than the context, never more', async () => {
    const outside = await temporary('outside-')
    write(outside, { 'a.txt': 'judged ', 'b.txt': 'canary' })
    const resolve = async (): Promise<string[]> => Promise.reject(new Error('no such name'))
    const { context, handle, cwd, run } = await place({ network: { allow: ['registry.test'], resolve } })
    write(cwd, { '.env': 'canary', 'in.txt': 'in ' })
    expect(await context.sandbox?.(handle)).toMatchObject({ profiles: ['read-only', 'workspace-write'] })
    const command = `cat ${outside}/a.txt ${outside}/b.txt in.txt .env; ls -A /mnt /home /srv; touch new-$0; env | grep -c _PROXY=`
    const confinement = { ...readOnly, reads: [join(outside, 'a.txt')], hidden: [join(cwd, '.env')] }
    expect(await run(command, { confinement })).toMatchObject({
      ...{ stdout: 'judged in 0\n', sandbox: { profile: 'read-only' } },
    })
    const writing = { ...workspaceWrite, hosts: ['registry.test', 'other.test'] }
    const asked = 'for h in registry other; do curl -sS http://$h.test/; done; touch new'
    const { stdout } = await run(asked, { confinement: writing })
    expect(stdout).toMatch(/no such name\n.*other\.test:80 is not allowed \(only registry\.test\)/)
    expect(existsSync(join(cwd, 'new'))).toBe(true)
    const wider = { ...workspaceWrite, writes: [outside] }
    await expect(run('true', { confinement: wider })).rejects.toMatchObject({ code: 'ENOSANDBOX' })
  })
})

describe('a confinement on a machine of its own', () => {
  const contexts: Record<string, () => Promise<ExecutionContext>> = {
    async docker() {
      const engine = await startFakeDocker({ registry: {} })
      onTestFinished(() => engine.close())
      const cwd = await temporary('docker-')
      return createDockerContext({ image: 'alpine', cwd, docker: { socketPath: engine.socketPath } })
    },
    async sandbox() {
      const machine = createProcessContext({ cwd: await temporary('sandbox-') })
      const handle = await machine.spawn()
      return createSandboxContext({
        spawn: async () => handle,
        exec: (_, command, options) => machine.exec(handle, command, options),
        destroy: () => machine.destroy(handle),
      })
    },
  }

  test.skipIf(process.platform !== 'linux').each(Object.keys(contexts))(
    '%s keeps secrets of this machine, but always writes',
    async (by) => {
      const context = await contexts[by]!()
      const handle = await context.spawn()
      onTestFinished(() => context.destroy(handle))
      expect(await context.sandbox?.(handle)).toEqual({ profiles: ['workspace-write'], by })
      const result = await context.exec(handle, 'echo ran >ran; cat ran', { confinement: workspaceWrite })
      expect(result).toMatchObject({ stdout: 'ran\n', sandbox: { profile: 'workspace-write' } })
      await expect(context.exec(handle, 'true', { confinement: readOnly })).rejects.toMatchObject({
        code: 'ENOSANDBOX',
      })
      expect(await context.exec(handle, 'true')).not.toHaveProperty('sandbox')
    },
  )
})
