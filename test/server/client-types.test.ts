import { expectTypeOf, test } from 'vitest'
import type { Explanation } from '../../src/authority/rules/explain.ts'
import type { AuthoritySettings } from '../../src/authority/rules/settings.ts'
import type { StoredRecord } from '../../src/cli/audit/audit.ts'
import type { listServers } from '../../src/cli/mcp/list.ts'
import type { TestResult } from '../../src/cli/mcp/test-servers.ts'
import type { ListedProvider } from '../../src/cli/models/list-providers.ts'
import type { ListedModel } from '../../src/cli/models/model-list.ts'
import type { ListedSkill } from '../../src/cli/skills/list-skills.ts'
import type { ListedTool } from '../../src/cli/tools/list-tools.ts'
import type * as client from '../../src/client/index.ts'
import type { AgentInstanceLatestStatus, AgentInstanceMessage, UserContent } from '../../src/plugins/message.ts'
import type { NewSchedule, ScheduleChange, ScheduleState } from '../../src/plugins/schedule.ts'
import type { TokenBreakdown } from '../../src/plugins/tokens/token-breakdown.ts'
import type { WikiNode } from '../../src/plugins/wiki/tiddlywiki/wiki-nodes.ts'
import type { PolicyCase, PolicyTest } from '../../src/server/server-options.ts'
import type { RollbackPlan, RollbackResult } from '../../src/snapshots/file-snapshots.ts'
import type { PendingApproval } from '../../src/workflow/agent/pending-calls.ts'
import type { AgentChange, AgentSettings } from '../../src/workflow/agent-settings.ts'
import type { AgentInstance, AgentSummary } from '../../src/workflow/definitions/definition.ts'
import type { WorkflowSettings } from '../../src/workflow/workflow-contract.ts'

// The client runs in browsers and imports none of these, so it has types of its own. `npm run check` compares them.
test('WB41 the types of the client are those of what the server tells and takes', () => {
  expectTypeOf<ListedModel>().toExtend<client.RemoteModel>()
  expectTypeOf<ListedProvider>().toExtend<client.RemoteProvider>()
  expectTypeOf<ListedSkill>().toExtend<client.RemoteSkill>()
  expectTypeOf<ListedTool>().toExtend<client.RemoteTool>()
  expectTypeOf<TestResult>().toExtend<client.RemoteMcpTest>()
  expectTypeOf<Awaited<ReturnType<typeof listServers>>['servers'][number]>().toExtend<client.RemoteMcpServer>()
  expectTypeOf<Explanation>().toExtend<client.RemoteExplanation>()
  expectTypeOf<StoredRecord>().toExtend<client.RemoteAuditRecord>()
  expectTypeOf<WikiNode>().toExtend<client.RemoteWikiNode>()
  expectTypeOf<client.RemoteRuleSettings>().toExtend<AuthoritySettings>()
  expectTypeOf<client.RemotePolicyCase>().toExtend<PolicyCase>()
  expectTypeOf<client.RemotePolicyTest>().toExtend<PolicyTest>()

  expectTypeOf<AgentInstance>().toExtend<client.RemoteAgentInstance>()
  expectTypeOf<AgentSummary>().toExtend<client.RemoteAgentSummary>()
  expectTypeOf<AgentSettings>().toExtend<client.RemoteAgentSettings>()
  expectTypeOf<AgentInstanceLatestStatus>().toExtend<client.RemoteAgentState['status']>()
  expectTypeOf<AgentInstanceMessage>().toExtend<client.RemoteAgentMessage>()
  expectTypeOf<PendingApproval>().toExtend<client.RemoteAgentPending>()
  expectTypeOf<TokenBreakdown>().toExtend<client.RemoteTokens>()
  expectTypeOf<RollbackPlan>().toExtend<client.RemoteRollbackPlan>()
  expectTypeOf<Omit<RollbackResult, 'undo'>>().toExtend<client.RemoteRollback>()
  expectTypeOf<ScheduleState>().toExtend<client.RemoteSchedule>()
  expectTypeOf<client.RemoteAgentChange>().toExtend<AgentChange>()
  expectTypeOf<client.RemoteAgentDefaults>().toExtend<WorkflowSettings>()
  expectTypeOf<client.RemoteAgentContent>().toExtend<string | UserContent>()
  expectTypeOf<client.NewRemoteSchedule>().toExtend<NewSchedule>()
  expectTypeOf<client.RemoteScheduleChange>().toExtend<ScheduleChange>()
})
