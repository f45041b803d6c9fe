// An agent in a wiki: it reads, asks, writes after it was allowed to, and has itself woken. Runs offline.
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTiddlyWikiStore } from 'libero/plugins'
import { call, scripted } from 'libero/testing'
import { createWorkflow } from 'libero/workflow'

const folder = await mkdtemp(join(tmpdir(), 'libero-wiki-'))
await cp(fileURLToPath(new URL('wiki', import.meta.url)), folder, { recursive: true })

const wiki = { workspaceName: 'garden' }
const provider = scripted(
  [call('1', 'wiki-search', { ...wiki, filter: '[tag[Watering plan]] [[Watering plan]]' })],
  [
    call('2', 'ask-question', {
      question: 'Who waters while Tamsin is away?',
      options: [{ label: 'Odile' }, { label: 'Nobody' }],
    }),
  ],
  [
    call('3', 'wiki-operation', {
      ...wiki,
      operation: 'add',
      title: 'Away in July',
      text: '[[Odile Farrow]] waters.',
      tags: ['Watering plan'],
    }),
  ],
  [call('4', 'alarm-clock', { wakeAtISO: '2099-07-01T08:00:00Z', reminderMessage: 'Tell Odile.' })],
)
const tools = ['wiki-search', 'ask-question', 'wiki-operation', 'alarm-clock']
const workflow = createWorkflow({
  provider,
  knowledge: createTiddlyWikiStore({ workspaces: { garden: { folder } } }),
  definitions: [
    {
      id: 'librarian',
      config: {
        prompts: [{ id: 'system', text: 'You keep the wiki of a garden.' }],
        plugins: tools.map((toolId) => ({ id: toolId, toolId })),
      },
      approval: { 'wiki-operation': { mode: 'confirm' } },
    },
  ],
})
const { id } = await workflow.createAgent('librarian')
workflow.subscribe(id, (update) => {
  if (update.type === 'message' && update.message.role === 'tool')
    console.log(`← ${update.message.content.split('\n')[0]}`)
})
console.log((await workflow.sendMsgToAgent(id, 'Tamsin is away in July.')).state) // input-required
console.log((await workflow.answerQuestion(id, '2', 'Odile')).state) // input-required: may it write?
console.log((await workflow.resolveApproval(id, '3', 'allow')).state) // completed, until the alarm rings
console.log(await readFile(join(folder, 'tiddlers/Away in July.tid'), 'utf8'))
const [alarm] = await workflow.schedules.list(id)
console.log(alarm?.message, new Date(alarm?.nextRunAt ?? 0).toISOString())
await workflow.close()
await rm(folder, { recursive: true })
