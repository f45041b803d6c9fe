import type { Route } from '../route.ts'
import { aboutRoutes } from './about.ts'
import { agentSettingsRoutes } from './agent-settings.ts'
import { agentWorkRoutes } from './agent-work.ts'
import { agentRoutes } from './agents.ts'
import { chatRoutes } from './chat.ts'
import { credentialRoutes } from './credentials.ts'
import { eventRoutes } from './events.ts'
import { healthRoutes } from './health.ts'
import { loginRoutes } from './login.ts'
import { mcpRoutes } from './mcp.ts'
import { messageRoutes } from './messages.ts'
import { openAIRoutes } from './openai.ts'
import { pendingRoutes } from './pending.ts'
import { policyRoutes } from './policy.ts'
import { scheduleRoutes } from './schedules.ts'
import { searchRoutes } from './search.ts'
import { sessionCommandRoutes } from './session-commands.ts'
import { sessionContentRoutes } from './session-content.ts'
import { sessionFactRoutes } from './session-facts.ts'
import { sessionFilesRoutes } from './session-files.ts'
import { sessionSettingsRoutes } from './session-settings.ts'
import { sessionRoutes } from './sessions.ts'
import { usageRoutes } from './usage.ts'
import { webhookRoutes } from './webhooks.ts'
import { wikitextRoutes } from './wikitext.ts'

/** All routes of a server: the router and the OpenAPI document are made from this list. */
export const allRoutes: readonly Route[] = [
  ...healthRoutes,
  ...loginRoutes,
  ...sessionRoutes,
  ...sessionContentRoutes,
  ...sessionSettingsRoutes,
  ...sessionFilesRoutes,
  ...sessionCommandRoutes,
  ...sessionFactRoutes,
  ...searchRoutes,
  ...messageRoutes,
  ...eventRoutes,
  ...pendingRoutes,
  ...agentRoutes,
  ...agentSettingsRoutes,
  ...agentWorkRoutes,
  ...scheduleRoutes,
  ...aboutRoutes,
  ...mcpRoutes,
  ...policyRoutes,
  ...credentialRoutes,
  ...wikitextRoutes,
  ...usageRoutes,
  ...webhookRoutes,
  ...chatRoutes,
  ...openAIRoutes,
]
