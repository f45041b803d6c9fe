import { appendFileSync, readFileSync } from 'node:fs'
import { createAgent, createProcessContext } from 'libero'
import { createTiddlyWikiStore } from 'libero/plugins'
import { call, scripted, tool } from 'libero/testing'
import { createGrepTool, createWebFetchTool, shell } from 'libero/tools'

export interface ApplicationSettings {
  readonly effects: string
  readonly workspace: string
  readonly wikiFolder: string
  readonly page: string
}

// An application that uses every tool that works in a thread. It notes each of its effects: the first is that it starts.
// Its settings lie beside it: a thread that ran it again would find them too.
const settings = readFileSync(new URL('settings.json', import.meta.url), 'utf8')
const { effects, workspace, wikiFolder, page } = JSON.parse(settings) as ApplicationSettings
appendFileSync(effects, 'start\n')

const mail = tool('mail', () => {
  appendFileSync(effects, 'mail\n')
  return 'sent'
})
const wiki = createTiddlyWikiStore({ workspaces: { garden: { folder: wikiFolder, readOnly: true } } })
const readWiki = tool('read_wiki', async () => {
  const { titles } = await (await wiki.open('garden')).filter('[tag[Beds]sort[title]]')
  return titles.join()
})

const agent = createAgent({
  execution: createProcessContext({ cwd: workspace }),
  provider: scripted(
    [call('mail', 'mail', {})],
    [call('grep', 'grep', { pattern: 'app(le)s', path: '.' })],
    [call('page', 'web_fetch', { url: page })],
    // One plain command: a rule allows it with and without a sandbox.
    [call('allowed', 'shell', { command: 'head -n 1 list.txt' })],
    [call('denied', 'shell', { command: 'cat list.txt; rm list.txt' })],
    [call('wiki', 'read_wiki', {})],
    'done',
  ),
  tools: {
    mail,
    grep: createGrepTool({ ripgrep: false }),
    web_fetch: createWebFetchTool({ allowPrivate: [new URL(page).host] }),
    shell,
    read_wiki: readWiki,
  },
  authority: { mode: 'ask', allow: ['mail', 'read_wiki', 'web_fetch', 'shell:cat', 'shell:head'], deny: ['shell:rm'] },
})
const { text } = await agent.run({ prompt: 'Go.' })
const results = agent.turns.flatMap(({ content }) => content.filter((block) => block.type === 'tool_result'))
console.log(JSON.stringify([...results.map(({ output }) => output), text]))
await agent.destroy()
await wiki.close?.()
