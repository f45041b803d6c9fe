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
import type * as agents from '../../src/client/remote-agent-types.ts'
import type * as host from '../../src/client/remote-host-types.ts'
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
  expectTypeOf<ListedModel>().toExtend<host.RemoteModel>()
  expectTypeOf<ListedProvider>().toExtend<host.RemoteProvider>()
  expectTypeOf<ListedSkill>().toExtend<host.RemoteSkill>()
  expectTypeOf<ListedTool>().toExtend<host.RemoteTool>()
  expectTypeOf<TestResult>().toExtend<host.RemoteMcpTest>()
  expectTypeOf<Awaited<ReturnType<typeof listServers>>['servers'][number]>().toExtend<host.RemoteMcpServer>()
  expectTypeOf<Explanation>().toExtend<host.RemoteExplanation>()
  expectTypeOf<StoredRecord>().toExtend<host.RemoteAuditRecord>()
  expectTypeOf<WikiNode>().toExtend<host.RemoteWikiNode>()
  expectTypeOf<host.RemoteRuleSettings>().toExtend<AuthoritySettings>()
  expectTypeOf<host.RemotePolicyCase>().toExtend<PolicyCase>()
  expectTypeOf<host.RemotePolicyTest>().toExtend<PolicyTest>()

  expectTypeOf<AgentInstance>().toExtend<agents.RemoteAgentInstance>()
  expectTypeOf<AgentSummary>().toExtend<agents.RemoteAgentSummary>()
  expectTypeOf<AgentSettings>().toExtend<agents.RemoteAgentSettings>()
  expectTypeOf<AgentInstanceLatestStatus>().toExtend<agents.RemoteAgentState['status']>()
  expectTypeOf<AgentInstanceMessage>().toExtend<agents.RemoteAgentMessage>()
  expectTypeOf<PendingApproval>().toExtend<agents.RemoteAgentPending>()
  expectTypeOf<TokenBreakdown>().toExtend<agents.RemoteTokens>()
  expectTypeOf<RollbackPlan>().toExtend<agents.RemoteRollbackPlan>()
  expectTypeOf<Omit<RollbackResult, 'undo'>>().toExtend<agents.RemoteRollback>()
  expectTypeOf<ScheduleState>().toExtend<agents.RemoteSchedule>()
  expectTypeOf<agents.RemoteAgentChange>().toExtend<AgentChange>()
  expectTypeOf<agents.RemoteAgentDefaults>().toExtend<WorkflowSettings>()
  expectTypeOf<agents.RemoteAgentContent>().toExtend<string | UserContent>()
  expectTypeOf<agents.NewRemoteSchedule>().toExtend<NewSchedule>()
  expectTypeOf<agents.RemoteScheduleChange>().toExtend<ScheduleChange>()
})
