// The frame of the page: places, who is signed in, and what is wrong with the venue.

import { Activity, Files, Gauge, GitCompareArrows, KeyRound, LogIn, LogOut, User } from "lucide";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { followWaiting, waiting } from "./access/pending-approvals.js";
import { isAnonymous, offers, venueName, who } from "./api/catalogue.js";
import { online, refused } from "./api/http.js";
import { followLabels, personOf } from "./api/labels.js";
import { session, signOut } from "./api/session.js";
import { isOutdated } from "./api/version.js";
import { keepAll } from "./editor/buffers.js";
import { confirmSignOut } from "./editor/confirm-sign-out.js";
import { FilesPlace } from "./files/place.js";
import { UploadTray } from "./files/uploads/upload-tray.js";
import { places } from "./places.js";
import { SignIn, signInOver } from "./sign-in.js";
import { texts } from "./texts.js";
import { Dialogs } from "./ui/dialog.js";
import { formatMoment, formatNumber, plain } from "./ui/format.js";
import { Icon } from "./ui/icon.js";
import { Menu } from "./ui/menu.js";
import { Notices } from "./ui/notices.js";
import { addressOf, route } from "./ui/router.js";
import { Empty, Skeleton } from "./ui/states.js";

const ICONS: Readonly<Record<string, unknown>> = {
  files: Files,
  changes: GitCompareArrows,
  activity: Activity,
  access: KeyRound,
  status: Gauge,
};

export function App(): JSX.Element {
  if (session.value === "starting") return <Skeleton rows={4} />;
  // After the first sign-in the page stays as it is, whatever happens to the token.
  if (who.value === undefined) return <SignIn />;
  return (
    <>
      <a class="skip" href="#main">
        {texts.skip}
      </a>
      <Top />
      <Banners />
      <main id="main" tabIndex={-1}>
        <Place />
      </main>
      <UploadTray />
      <Notices />
      <Dialogs />
      {refused.value ? <SignIn isOver /> : null}
    </>
  );
}

function Place(): JSX.Element {
  const { place } = route.value;
  if (place === "files") return <FilesPlace />;
  const found = places[place];
  if (found === undefined) {
    return (
      <>
        <h1 class="unseen">{plain(place)}</h1>
        <Empty icon={Files} title={texts.noPlace}>
          <a href={addressOf("files")}>{texts.toFiles}</a>
        </Empty>
      </>
    );
  }
  if (!found.needs.some(offers)) {
    const title = texts.places[place] ?? plain(place);
    return (
      <>
        <h1 class="unseen">{title}</h1>
        <Empty icon={ICONS[place] ?? Files} title={texts.placeIsOff(title)}>
          {texts.turnOn[place] === undefined ? null : <p>{texts.placeIsOffHint(texts.turnOn[place] ?? "")}</p>}
        </Empty>
      </>
    );
  }
  const { Content } = found;
  return <Content />;
}

function Top(): JSX.Element {
  useEffect(followWaiting, [who.value?.did]);
  useEffect(followLabels, [who.value?.did]);
  const shown = ["files", ...Object.keys(places).filter((place) => places[place]?.needs.some(offers) === true)];
  return (
    <header class="top">
      <a class="venue" href={addressOf("files")} title={plain(venueName.value)}>
        {plain(venueName.value)}
      </a>
      <nav aria-label={plain(venueName.value)}>
        {shown.map((place) => (
          <a key={place} href={addressOf(place)} aria-current={route.value.place === place ? "page" : undefined}>
            <Icon of={ICONS[place]} />
            <span>{texts.places[place]}</span>
            {place === "access" && waiting.value.length > 0 ? (
              <span class="badge" role="status" title={texts.waitingCount(waiting.value.length)}>
                {formatNumber(waiting.value.length)}
              </span>
            ) : null}
          </a>
        ))}
      </nav>
      <Account />
    </header>
  );
}

function Account(): JSX.Element {
  const me = who.value;
  if (me === undefined || isAnonymous.value) {
    return (
      <button type="button" class="primary" onClick={signInOver}>
        <Icon of={LogIn} />
        {texts.signIn}
      </button>
    );
  }
  const name = personOf(me.did);
  const how = texts.identityOf[me.authentication] ?? me.authentication;
  const until = me.expires === undefined ? "" : texts.until(formatMoment(me.expires * 1000));
  const leave = async () => {
    if (await confirmSignOut()) signOut();
  };
  return (
    <div class="account">
      <span class="account-name" title={plain(me.did)}>
        {name}
        <small>{[how, until].filter((part) => part !== "").join(", ")}</small>
      </span>
      <Menu
        label={texts.account}
        items={[
          { label: texts.signIn, icon: LogIn, run: signInOver },
          { label: texts.signOut, icon: LogOut, run: () => void leave() },
        ]}
      >
        <Icon of={User} />
      </Menu>
    </div>
  );
}

function Banners(): JSX.Element {
  return (
    <div role="status" class="banners">
      {online.value ? null : <p class="banner">{texts.offline}</p>}
      {isOutdated.value ? (
        <p class="banner news">
          {texts.newVersion}
          <button type="button" onClick={() => void keepAll().then(() => location.reload())}>
            {texts.reload}
          </button>
        </p>
      ) : null}
    </div>
  );
}
