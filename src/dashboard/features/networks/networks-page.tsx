import { useNavigate } from '@tanstack/react-router';
import { useAddress } from '../../app/address.ts';
import { Page } from '../../components/page.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { IngressPanel } from './ingress-panel.tsx';
import { MeshPanel } from './mesh-panel.tsx';
import { NamedNetworks } from './named-networks.tsx';
import { NamesPanel } from './names-panel.tsx';

export function NetworksPage() {
  const tab = useAddress().text('tab') ?? 'nodes';
  const navigate = useNavigate();
  return (
    <Page
      title="Network"
      note="The nodes of a tenant are one network: containers reach deployments by name, on whichever node they run."
    >
      <Tabs
        label="Parts of the network"
        value={tab}
        onChange={(next) => void navigate({ to: '/networks', search: { tab: next }, replace: true })}
        tabs={[
          { value: 'nodes', title: 'Nodes and paths', content: () => <MeshPanel /> },
          { value: 'names', title: 'Names and addresses', content: () => <NamesPanel /> },
          { value: 'ingress', title: 'Ingress', content: () => <IngressPanel /> },
          { value: 'named', title: 'Named networks', content: () => <NamedNetworks /> },
        ]}
      />
    </Page>
  );
}
