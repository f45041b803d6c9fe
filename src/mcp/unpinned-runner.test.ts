import { describe, expect, test } from 'vitest'
import { unpinnedRunner } from './unpinned-runner.ts'

describe('MC-17 an unpinned package causes a warning that says how to pin it:', () => {
  const loose: Record<string, [spec: string, advice: string]> = {
    'npx -y @a/server': ['@a/server', '"@a/server@1.2.3"'],
    'npx server': ['server', '"server@1.2.3"'],
    'npx --yes server@latest /folder': ['server@latest', '"server@1.2.3"'],
    'npx server@^1.2.3': ['server@^1.2.3', '"server@1.2.3"'],
    'npx server@1': ['server@1', '"server@1.2.3"'],
    'npx -y -p @a/tools@1.2.3 -p other run': ['other', '"other@1.2.3"'],
    'npx --package=other -- run': ['other', '"other@1.2.3"'],
    'npx -y github:me/server': ['github:me/server', 'name a commit by its full hash, such as "github:me/server#…"'],
    '/usr/local/bin/npx -y server': ['server', 'server@1.2.3'],
    'C:\\nodejs\\npx.cmd -y server': ['server', 'server@1.2.3'],
    'cmd /c npx -y server': ['server', 'server@1.2.3'],
    'env A=1 npx -y server': ['server', 'server@1.2.3'],
    'npm exec --yes -- server': ['server', 'server@1.2.3'],
    'bunx server': ['server', 'server@1.2.3'],
    'bun x server': ['server', 'server@1.2.3'],
    'pnpm dlx server': ['server', 'server@1.2.3'],
    'deno run -A npm:server': ['npm:server', 'npm:server@1.2.3'],
    'uvx server': ['server', '"server==1.2.3"'],
    'uvx server@latest': ['server@latest', '"server==1.2.3"'],
    'uvx --python 3.12 --from server>=1 run': ['server>=1', '"server==1.2.3"'],
    'uvx --from git+https://host.example/me/server run': [
      'git+https://host.example/me/server',
      'name a commit by its full hash, such as "git+https://host.example/me/server@…"',
    ],
    'uv tool run server': ['server', '"server==1.2.3"'],
    'pipx run server': ['server', '"server==1.2.3"'],
    'docker run -i --rm mcp/server': ['mcp/server', '"mcp/server@sha256:…"'],
    'docker run -i --rm -e TOKEN --mount type=bind,src=/a,dst=/b host:5000/server --flag x:1': [
      'host:5000/server',
      '"host:5000/server@sha256:…"',
    ],
    'docker run -i --name=a mcp/server:latest': ['mcp/server:latest', '"mcp/server@sha256:…"'],
    'podman run -it server': ['server', '"server@sha256:…"'],
  }
  test.each(Object.entries(loose))('%s', (line, [spec, advice]) => {
    const warning = warn(line)
    expect(warning).toContain(`The MCP server "mine" runs whatever "${spec}" is when it starts (`)
    expect(warning).toContain(advice)
  })
})

describe('MC-17 a pinned or local package causes none:', () => {
  const pinned = [
    ...['npx -y @a/server@1.2.3', 'npx server@1.2.3-beta.1 --flag', 'npx -p server@1.2.3 run', 'npx ./server', 'npx'],
    ...[`npx github:me/server#${'a'.repeat(40)}`, 'node server.js', 'bunx server@0.1.0', 'pnpm dlx server@1.2.3'],
    ...[
      'npm run server',
      'pnpm start',
      'uv run server',
      'uvx server==1.2',
      'uvx server@1.2.3',
      'uvx --from server==1.2.3 run',
    ],
    ...[`uvx --from git+https://host.example/me/server@${'a'.repeat(40)} run`, 'pipx run server==2.0', 'uvx ./server'],
    ...[
      'docker run -i --rm mcp/server:1.2',
      `docker run host:5000/server@sha256:${'0'.repeat(64)}`,
      'docker exec -i a server',
    ],
    ...['deno run -A server.ts', 'deno run -A npm:server@1.2.3', 'my-npx server', 'npxx server'],
  ]
  test.each(pinned)('%s', (line) => {
    expect(warn(line)).toBeUndefined()
  })
})

test('the warning is one line, whatever the package is called', () => {
  const warning = unpinnedRunner({
    name: 'm',
    transport: 'stdio',
    command: 'npx',
    args: [`a\n\x1b[2J${'x'.repeat(500)}`],
  })
  expect(warning).toContain('"a\\n␛[2Jxxx')
  expect(warning?.length).toBeLessThan(700)
})

test('a password in an address is not shown', () => {
  const warning = warn('npx -y git+https://me:hunter2hunter2@host.example/me/server')
  expect(warning).toContain('host.example/me/server')
  expect(warning).not.toContain('hunter2')
})

test('a server with an address causes no warning', () => {
  expect(unpinnedRunner({ name: 'm', transport: 'streamable-http', url: 'https://mcp.example' })).toBeUndefined()
})

function warn(line: string): string | undefined {
  const [command = '', ...args] = line.split(' ')
  return unpinnedRunner({ name: 'mine', transport: 'stdio', command, args })
}

test('MC-17 a shell or env around the command is seen through', () => {
  const warning = (command: string, ...args: string[]) =>
    unpinnedRunner({ name: 'a', transport: 'stdio', command, args })
  expect(warning('sh', '-c', 'npx -y server')).toContain('"server" is when it starts (npx fetches it)')
  expect(warning('/bin/bash', '-l', '-c', "cd /x && exec npx -y 'server'")).toContain('"server" is when it starts')
  expect(warning('bash', '-lc', 'uvx server')).toContain('uvx fetches it')
  expect(warning('sh', '-c', 'npx -y server@1.2.3')).toBeUndefined()
  for (const args of [[], ['-c'], ['npx', 'server']]) expect(warning('sh', ...args)).toBeUndefined()
})
