import { beginPage, TENANT_KEY } from './lib/begun.ts';

beginPage(location.pathname, localStorage.getItem(TENANT_KEY) ?? undefined);
